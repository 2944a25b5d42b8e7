import { test } from '@playwright/test';

test('crashes', async () => {
  process.kill(process.pid, 'SIGSEGV');
  await new Promise(() => {});
});
