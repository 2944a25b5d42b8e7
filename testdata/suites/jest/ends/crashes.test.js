test('before', () => {});
test('crashes', async () => {
  await new Promise((resolve) => setTimeout(resolve, 300));
  process.kill(process.pid, 'SIGSEGV');
  await new Promise(() => {});
}, 5000);
test('after', () => {});
