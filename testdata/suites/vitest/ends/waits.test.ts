import { existsSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('before', () => {});
test('fails before', () => {
  expect(1).toBe(2);
});
test('waits', async () => {
  while (!existsSync(`${process.env.STROBE_BEGUN}.beside`)) await new Promise((resolve) => setTimeout(resolve, 10));
  writeFileSync(process.env.STROBE_BEGUN!, '');
  await new Promise(() => {});
});
test('after', () => {});
