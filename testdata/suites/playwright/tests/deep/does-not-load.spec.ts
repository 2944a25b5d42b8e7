import { test } from '@playwright/test';
import { gone } from './a-module-that-is-not-there';

test('never seen', () => gone());
