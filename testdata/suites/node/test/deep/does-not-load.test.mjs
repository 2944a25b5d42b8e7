import { gone } from './a-module-that-is-not-there.mjs';
import { test } from 'node:test';

test('never seen', () => gone());
