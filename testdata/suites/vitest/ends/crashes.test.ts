import { test } from 'vitest';

test('before', async () => {
  await new Promise((resolve) => setTimeout(resolve, 300));
});
test('crashes', async () => {
  await new Promise((resolve) => setTimeout(resolve, 300));
  process.kill(process.pid, 'SIGSEGV');
  await new Promise(() => {});
});
test('after', () => {});
