import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';

test('before', () => {});
test('fails before', () => {
  assert.equal(1, 2);
});
test('waits', { timeout: Infinity }, async () => {
  while (!existsSync(`${process.env.STROBE_BEGUN}.beside`)) await new Promise((resolve) => setTimeout(resolve, 10));
  writeFileSync(process.env.STROBE_BEGUN, '');
  await new Promise(() => setInterval(() => {}, 1000));
});
test('after', () => {});
