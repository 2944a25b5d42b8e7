Deno.test('before', () => {});
Deno.test('crashes', () => {
  Deno.kill(Deno.pid, 'SIGABRT');
  for (;;);
});
