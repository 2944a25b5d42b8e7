import { writeFileSync } from 'node:fs';
import { test } from 'vitest';

test('beside', () => {
  writeFileSync(`${process.env.STROBE_BEGUN}.beside`, '');
});
