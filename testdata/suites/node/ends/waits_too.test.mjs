import { writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';

describe('group', () => {
  test('beside', () => {
    writeFileSync(`${process.env.STROBE_BEGUN}.beside`, '');
  });
});
