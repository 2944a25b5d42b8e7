import { writeFileSync } from 'node:fs';
import { expect, test } from 'bun:test';

test('before', () => {});
test('fails before', () => {
  expect(1).toBe(2);
});
test('waits', async () => {
  writeFileSync(process.env.STROBE_BEGUN!, '');
  await new Promise(() => {});
}, 3_600_000);
test('after', () => {});
