import { test } from 'bun:test';

test('before', () => {});
test('exits', () => {
  process.exit(3);
});
test('after', () => {});
