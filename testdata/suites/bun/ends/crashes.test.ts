import { test } from 'bun:test';

test('before', () => {});
test('crashes', () => {
  process.kill(process.pid, 'SIGSEGV');
});
test('after', () => {});
