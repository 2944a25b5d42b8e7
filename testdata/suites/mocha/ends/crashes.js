it('before', () => {});
it('crashes', () => {
  process.kill(process.pid, 'SIGSEGV');
});
