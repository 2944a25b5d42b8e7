Deno.test('before', () => {});
Deno.test('exits', () => {
  Deno.exit(3);
});
Deno.test('after', () => {});
