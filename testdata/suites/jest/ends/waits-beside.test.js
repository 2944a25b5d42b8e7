const fs = require('node:fs');

test('beside', () => {
  fs.writeFileSync(`${process.env.STROBE_BEGUN}.beside`, '');
});
