import { writeFileSync } from 'node:fs';
import { expect, test } from '@playwright/test';

test('fails beside', () => {
  writeFileSync(`${process.env.STROBE_BEGUN}.beside`, '');
  expect(1).toBe(2);
});
