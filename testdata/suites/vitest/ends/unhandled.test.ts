import { test } from 'vitest';

test('leaves a rejection', async () => {
  setTimeout(() => {
    throw new Error('after the test');
  }, 10);
  await new Promise((resolve) => setTimeout(resolve, 100));
});
