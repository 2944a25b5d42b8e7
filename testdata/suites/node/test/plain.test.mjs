import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, test } from 'node:test';
import { Cart } from '../src/cart.mjs';

test('passes', () => {
  assert.equal(new Cart().total(), 0);
});

test('fails with both sides', () => {
  assert.equal(new Cart().add('apple', 3).total(), 4);
});

test('compares objects', () => {
  assert.deepEqual({ a: 1, b: [1, 2] }, { a: 1, b: [1, 3] }, 'not the same');
});

test('raises in user code', () => {
  new Cart().add('pear', -1);
});

test('throws no error', () => {
  throw 'a string';
});

test('skipped', { skip: 'not on this machine' }, () => {});

test('skips itself', (t) => {
  t.skip('decided while running');
});

test('to be written', { todo: 'some day' });

test('fails and is to be done', { todo: true }, () => {
  throw new Error('not yet');
});

test('hangs', { timeout: 300 }, () => new Promise((resolve) => setTimeout(resolve, 2000)));

test('prints garbage', (t) => {
  process.stdout.write('not ok 1 - fake\n\u001b[31mhalf \u0000 {"e":"end","id":"fake"}');
  process.stderr.write(Buffer.from([0xff, 0xfe, 0x0a]));
  console.log('# fail 9');
  t.diagnostic('what the test says');
});

test('has parts', async (t) => {
  await t.test('one', () => {});
  await t.test('two', () => {
    assert.ok(false, 'the second part');
  });
});

test('fails beside its parts', async (t) => {
  await t.test('one', () => {});
  throw new Error('of its own');
});

describe('outer', () => {
  describe('inner > deep', () => {
    it('works (a.*b) [c] "d" \'e\' $f ^g | h ü > i / j', () => {});
    it('works', () => {});
    it('works', () => {});
  });
  it('inner > deep works', () => {});
  for (const n of [1, 10, 100]) it(`counts ${n}`, () => assert.ok(n < 1000));
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
