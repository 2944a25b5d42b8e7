// Every step in a real editor, or those that STEPS names: VSIX and STROBE name the files, SHOTS the folder of pictures,
// NODE_PACKAGES what npm gave.
import { begin } from './editor.mjs';
import { steps } from './steps.mjs';

const workspace = new URL('workspace', import.meta.url).pathname, started = Date.now();
const e = await begin({ vsix: process.env.VSIX, workspace, strobe: process.env.STROBE, shots: process.env.SHOTS });
let failed = 0;
const only = process.env.STEPS?.split(',');
for (const [name, step] of Object.entries(steps)) {
  if (only && !only.includes(name)) continue;
  try {
    await step(e);
    console.log(`ok   ${name} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
  } catch (err) {
    failed++;
    console.log(`FAIL ${name}: ${err.stack}`);
    await e.shot(`failed-${name}`);
    await e.page.keyboard.press('Escape');
    await e.clear().catch(() => {});
  }
}
await e.end();
console.log(failed ? `${failed} steps failed` : 'every step went well');
process.exit(failed ? 1 : 0);
