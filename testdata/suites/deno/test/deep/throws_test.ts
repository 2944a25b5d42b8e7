Deno.test('declared before', () => {});
throw new TypeError('while loading');
