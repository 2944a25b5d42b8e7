import { defineConfig } from 'vitest/config';

export default defineConfig({ test: { include: ['**/*.test.ts'], dir: 'test', testTimeout: 1000, hookTimeout: 1000 } });
