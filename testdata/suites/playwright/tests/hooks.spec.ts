import { test as base } from '@playwright/test';

const test = base.extend<{ broken: number }>({
  broken: async ({}, use) => {
    throw new Error('the fixture cannot be made');
    await use(1);
  },
});

test('needs a fixture', ({ broken }) => {});

test.describe('set up badly', () => {
  test.beforeEach(() => {
    throw new Error('cannot be set up');
  });
  test('never runs', () => {});
});

test.describe('taken down badly', () => {
  test.afterEach(() => {
    throw new Error('cannot be taken down');
  });
  test('passes before', () => {});
});
