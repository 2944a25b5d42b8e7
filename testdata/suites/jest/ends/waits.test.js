const fs = require('node:fs');

test('before', () => {});
test('fails before', () => {
  expect(1).toBe(2);
});
test('waits', async () => {
  while (!fs.existsSync(`${process.env.STROBE_BEGUN}.beside`)) await new Promise((resolve) => setTimeout(resolve, 10));
  fs.writeFileSync(process.env.STROBE_BEGUN, '');
  await new Promise(() => {});
});
test('after', () => {});
