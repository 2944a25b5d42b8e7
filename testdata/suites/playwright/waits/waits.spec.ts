import { existsSync, writeFileSync } from 'node:fs';
import { test } from '@playwright/test';

test('before', () => {});
test('waits', async () => {
  test.setTimeout(0);
  while (!existsSync(`${process.env.STROBE_BEGUN}.beside`)) await new Promise((resolve) => setTimeout(resolve, 10));
  writeFileSync(process.env.STROBE_BEGUN!, '');
  await new Promise(() => {});
});
test('after', () => {});
