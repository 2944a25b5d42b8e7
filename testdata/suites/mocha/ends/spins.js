const fs = require('node:fs');

it('before', () => {});
it('spins', () => {
  fs.writeFileSync(process.env.STROBE_BEGUN, '');
  for (;;);
});
