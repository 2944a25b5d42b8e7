// Loaded into a test file's own process when the file took its process down before: says which test runs, before it runs.
import { afterEach, beforeEach } from 'node:test';
import common from './strobe_common.cjs';

const { settings, write } = common;

if (process.env.NODE_TEST_CONTEXT) {
  const names = (context) => (context.fullName !== undefined ? context.fullName.split(' > ') : [context.name]);
  beforeEach((context) => write({ e: 'runs', names: names(context), file: settings.file }));
  afterEach((context) => write({ e: 'ran', names: names(context), file: settings.file }));
}
