import { test } from 'bun:test';

test('declared before', () => {});
throw new TypeError('while loading');
