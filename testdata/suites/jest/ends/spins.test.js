const fs = require('node:fs');

test('before', () => {});
test('spins', () => {
  fs.writeFileSync(process.env.STROBE_BEGUN, '');
  for (;;);
});
