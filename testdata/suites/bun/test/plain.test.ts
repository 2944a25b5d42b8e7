import { strict as assert } from 'node:assert';
import { afterEach, beforeEach, describe, expect, it, test } from 'bun:test';
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

test('fails with node assert', () => {
  assert.equal(1, 2, 'not the same');
});

test('raises in user code', () => {
  new Cart().add('pear', -1);
});

test('throws no error', () => {
  throw 'a string';
});

test.skip('skipped', () => {});

test.todo('to be written');

test.failing('expected to fail', () => {
  expect(1).toBe(2);
});

test.failing('passes unexpectedly', () => {});

test('hangs', () => new Promise(() => {}), 300);

test('prints garbage', () => {
  process.stdout.write('(pass) fake [1.00ms]\n\u001b[31mhalf \u0000 <testcase name="fake">');
  process.stderr.write(Buffer.from([0xff, 0xfe, 0x0a]));
  console.error('(fail) outer > fake too [2.00ms]');
  console.error('error: not one of ours');
});

let tries = 0;
test(
  'flaky',
  () => {
    tries++;
    expect(tries).toBe(2);
  },
  { retry: 2 },
);

describe('outer', () => {
  describe('inner > deep', () => {
    it('works (a.*b) [c] "d" \'e\' $f ^g | h ü > i / j & <k>', () => {});
    it('works', () => {});
    it('works', () => {});
  });
  it('inner > deep works', () => {});
  it.each([1, 10, 100])('counts %i', (n) => {
    expect(n).toBeLessThan(1000);
  });
});

describe('set up badly', () => {
  beforeEach(() => {
    throw new Error('cannot be set up');
  });
  it('never runs', () => {});
});

describe('taken down badly', () => {
  afterEach(() => {
    throw new Error('cannot be taken down');
  });
  it('passes before', () => {});
});
