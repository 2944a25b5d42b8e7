import { test } from 'vitest';

test('never seen', () => {
