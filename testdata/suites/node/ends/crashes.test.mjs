import { test } from 'node:test';

test('before', () => {});
test('crashes', () => {
  process.kill(process.pid, 'SIGSEGV');
});
test('after', () => {});
