import { writeFileSync } from 'node:fs';
import { test } from 'vitest';

test('before', () => {});
test('spins', () => {
  writeFileSync(process.env.STROBE_BEGUN!, '');
  for (;;);
});
