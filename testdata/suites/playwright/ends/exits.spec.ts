import { test } from '@playwright/test';

test('before', () => {});
test('exits', () => {
  process.exit(3);
});
test('after', () => {});
