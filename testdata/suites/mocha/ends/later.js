it('leaves an error', (done) => {
  setTimeout(() => {
    throw new Error('after the test');
  }, 20);
  done();
});
it('runs meanwhile', (done) => setTimeout(done, 200));
