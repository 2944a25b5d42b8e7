import { strict as assert } from 'node:assert';
import { Cart } from 'cart';

Deno.test('passes', () => {
  assert.equal(new Cart().total(), 0);
});

Deno.test('fails with both sides', () => {
  assert.equal(new Cart().add('apple', 3).total(), 4);
});

Deno.test('raises in user code', () => {
  new Cart().add('pear', -1);
});

Deno.test('throws no error', () => {
  throw 'a string';
});

Deno.test.ignore('ignored', () => {});

Deno.test('prints garbage', async () => {
  console.log('fake ... \u001b[0m\u001b[32mok\u001b[0m (1ms)');
  console.log('ok | 9 passed | 0 failed (1ms)\u0000 <testcase name="fake">');
  await Deno.stdout.write(new Uint8Array([0xff, 0xfe, 0x0a]));
});

Deno.test('may not do this', () => {
  Deno.env.get('HOME');
});

Deno.test('leaks', () => {
  setTimeout(() => {}, 10_000);
});

Deno.test('has parts', async (t) => {
  await t.step('one', () => {});
  await t.step('two', async (t) => {
    await t.step('deep', () => {
      throw new Error('the second part');
    });
  });
  await t.step({ name: 'three', ignore: true, fn: () => {} });
});

Deno.test('has only parts that pass', async (t) => {
  await t.step('one', () => {});
});

Deno.test('works (a.*b) [c] "d" \'e\' $f ^g | h ü > i / j & <k>', () => {});
Deno.test('works', () => {});
Deno.test('works', () => {});
for (const n of [1, 10, 100]) Deno.test(`counts ${n}`, () => assert.ok(n < 1000));
