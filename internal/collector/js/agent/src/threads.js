// node:worker_threads, which takes milliseconds to load: Bun's programs pay for it with their first file.
export const threads = () => require('node:worker_threads');
export const isMainThread = process.versions.bun ? Bun.isMainThread : threads().isMainThread;
