const fs = require('node:fs');

it('before', () => {});
it('fails before', () => {
  throw new Error('so it does');
});
it('waits', () => {
  fs.writeFileSync(process.env.STROBE_BEGUN, '');
  return new Promise(() => setInterval(() => {}, 1000));
}).timeout(0);
it('after', () => {});
