import { test } from 'bun:test';

test.todo('done already', () => {});
test.todo('not done', () => {
  throw new Error('not yet');
});
