import { defineConfig } from '@playwright/test';

export default defineConfig({
  timeout: 5000,
  workers: 2,
  projects: [
    { name: 'first', testDir: 'tests' },
    { name: 'second one', testDir: 'tests', testMatch: /again\.spec\.ts/ },
    { name: 'ends', testDir: 'ends' },
    { name: 'waits', testDir: 'waits' },
  ],
});
