let go = false;
it('leaves an error', (done) => {
  const timer = setInterval(() => {
    if (!go) return;
    clearInterval(timer);
    throw new Error('after the test');
  }, 5);
  done();
});
it('runs meanwhile', (done) => {
  go = true;
  setTimeout(done, 1000);
});
