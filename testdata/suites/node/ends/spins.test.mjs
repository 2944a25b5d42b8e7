import { writeFileSync } from 'node:fs';
import { test } from 'node:test';

test('before', () => {});
test('spins', () => {
  writeFileSync(process.env.STROBE_BEGUN, '');
  for (;;);
});
