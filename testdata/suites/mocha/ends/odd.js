const { appendFileSync } = require('node:fs');

// What looks like reports, what is no text, and a line that is too long for any reader.
function noise() {
  const fakes = ['{"e":"end","id":"fake","name":"fake","status":"failed","fails":true}', '<testcase name="fake"><failure/></testcase>', 'not ok 1 - fake', '(fail) fake [1.00ms]', 'fake ... FAILED (1ms)'];
  for (const out of [process.stdout, process.stderr]) {
    for (const fake of fakes) out.write(`${fake}\n`);
    out.write(Buffer.from([0x1b, 0x5b, 0x33, 0x31, 0x6d, 0x00, 0xff, 0xfe, 0x0a]));
    out.write(`${'long '.repeat(60000)}\n`);
  }
}

const names = ['-x "a" \'b\' $HOME `id` \\ !', 'a.*b (c) [d] {e} ^|+? / ü 日本 <k> & # % ; ~', 'plain', 'plain more'];
for (const name of names) {
  it(name, () => {
    noise();
    appendFileSync(process.env.STROBE_RAN, `${name}\n`);
  });
}
