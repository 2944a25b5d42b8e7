import { describe, test } from 'node:test';

test('before', () => {});
describe('group', () => {
  test('exits', () => {
    process.exit(3);
  });
});
test('after', () => {});
