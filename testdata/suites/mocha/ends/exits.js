it('before', () => {});
it('exits', () => {
  process.exit(3);
});
it('after', () => {});
