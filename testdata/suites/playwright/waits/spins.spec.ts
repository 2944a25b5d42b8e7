import { writeFileSync } from 'node:fs';
import { test } from '@playwright/test';

test('before', () => {});
test('spins', () => {
  test.setTimeout(0);
  writeFileSync(process.env.STROBE_BEGUN!, '');
  for (;;);
});
