Deno.test('before', () => {});
Deno.test('fails before', () => {
  throw new Error('so it does');
});
Deno.test('waits', async () => {
  Deno.writeTextFileSync(Deno.env.get('STROBE_BEGUN')!, '');
  await new Promise((resolve) => setTimeout(resolve, 3_600_000));
});
Deno.test('after', () => {});
