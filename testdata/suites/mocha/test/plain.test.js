const assert = require('node:assert/strict');
const { Cart } = require('../src/cart');

it('passes', () => {
  assert.equal(new Cart().total(), 0);
});

it('fails with both sides', () => {
  assert.equal(new Cart().add('apple', 3).total(), 4);
});

it('compares objects', () => {
  assert.deepEqual({ a: 1, b: [1, 2] }, { a: 1, b: [1, 3] }, 'not the same');
});

it('raises in user code', () => {
  new Cart().add('pear', -1);
});

it('throws no error', () => {
  throw 'a string';
});

it.skip('skipped', () => {});

it('skips itself', function () {
  this.skip();
});

it('to be written');

it('hangs', () => new Promise(() => {})).timeout(300);

it('prints garbage', () => {
  process.stdout.write('  9 passing\n  1) fake\n\u001b[31mhalf \u0000 {"e":"end","id":"fake"}');
  process.stderr.write(Buffer.from([0xff, 0xfe, 0x0a]));
});

let tries = 0;
it('flaky', () => {
  tries++;
  assert.equal(tries, 2);
}).retries(2);

it('never passes', () => {
  throw new Error('no disk');
}).retries(1);

describe('outer', () => {
  describe('inner > deep', () => {
    it('works (a.*b) [c] "d" \'e\' $f ^g | h ü > i / j', () => {});
    it('works', () => {});
    it('works', () => {});
  });
  it('inner > deep works', () => {});
  for (const n of [1, 10, 100]) it(`counts ${n}`, () => assert.ok(n < 1000));
});
