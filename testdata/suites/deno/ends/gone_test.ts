import { gone } from './a-module-that-is-not-there.ts';

Deno.test('never seen', () => gone());
