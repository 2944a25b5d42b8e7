import { expect, test } from '@playwright/test';

test.describe('retried', () => {
  test.describe.configure({ retries: 2 });
  test('flaky', ({}, info) => {
    expect(info.retry).toBe(1);
  });
  test('never passes', () => {
    throw new Error('no disk');
  });
});
