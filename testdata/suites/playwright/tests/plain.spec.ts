import { expect, test } from '@playwright/test';
import { Cart } from '../src/cart';

test('passes', () => {
  expect(new Cart().total()).toBe(0);
});

test('fails with both sides', () => {
  expect(new Cart().add('apple', 3).total()).toBe(4);
});

test('compares objects', () => {
  expect({ a: 1, b: [1, 2] }).toEqual({ a: 1, b: [1, 3] });
});

test('raises in user code', () => {
  new Cart().add('pear', -1);
});

test('throws no error', () => {
  throw 'a string';
});

test.skip('skipped', () => {});

test('skips itself', () => {
  test.skip(true, 'decided while running');
});

test.fixme('to be mended', () => {});

test.fail('expected to fail', () => {
  expect(1).toBe(2);
});

test.fail('passes unexpectedly', () => {});

test('hangs', async () => {
  test.setTimeout(500);
  await new Promise(() => {});
});

test('prints garbage', () => {
  process.stdout.write('  9 passed\n\u001b[31mhalf \u0000 {"e":"end","id":"fake"}');
  process.stderr.write(Buffer.from([0xff, 0xfe, 0x0a]));
});

test('tagged', { tag: ['@fast', '@own'] }, () => {});

test.describe('outer', () => {
  test.describe('inner > deep', () => {
    test('works (a.*b) [c] "d" \'e\' $f ^g | h ü > i / j', () => {});
    test('works', () => {});
  });
  for (const n of [1, 10, 100]) test(`counts ${n}`, () => expect(n).toBeLessThan(1000));
});

test.describe('soft', () => {
  test('fails twice', () => {
    expect.soft(1).toBe(2);
    expect.soft('a').toBe('b');
  });
});
