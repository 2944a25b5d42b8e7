import { test } from 'vitest';
import { gone } from './a-module-that-is-not-there';

test('never seen', () => gone());
