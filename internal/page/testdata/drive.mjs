// Drives the page in Chromium for the tests: reads commands as lines of JSON, answers each with one.
import { createInterface } from 'node:readline';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(process.env.NODE_PACKAGES + '/');
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--enable-precise-memory-info'] });
const context = await browser.newContext({ viewport: { width: 1400, height: 860 } });
const page = await context.newPage();
let wrong = [], elsewhere = [];
page.on('console', (m) => { if (m.type() === 'error') wrong.push(m.text()); });
page.on('pageerror', (e) => wrong.push(String(e)));
page.on('request', (r) => { const u = new URL(r.url()); if (u.protocol !== 'data:' && u.hostname !== '127.0.0.1') elsewhere.push(r.url()); });

const idle = () => page.waitForFunction(() => {
  const t = window.strobe?.shown();
  return t && t.picture && !t.busy && window.strobe.root.isConnected;
}, null, { timeout: 60000 });

const commands = {
  // open follows a link, which is loaded anew.
  async open({ url, wait }) {
    await page.goto('about:blank');
    await page.goto(url);
    if (wait) await page.waitForSelector(wait, { timeout: 60000 });
    else await idle();
    return { title: await page.title(), hash: new URL(page.url()).hash };
  },
  // shown is the picture that the page has drawn.
  async shown() {
    await idle();
    return page.evaluate(() => {
      const { picture: p, from, to } = window.strobe.shown(), spans = [];
      for (let i = 0; i < p.count; i++) {
        spans.push({ from: p.begin[i], to: p.end[i], id: p.id[i], calls: p.calls[i], lane: p.lane[i], depth: p.depth[i],
          function: p.functions.find((f) => f.id === p.fn[i]).name });
      }
      return { from: p.from, to: p.to, viewFrom: from, viewTo: to, spans, marks: p.marks };
    });
  },
  async click({ id }) {
    // A picture that comes between the look for the place and the click moves what is there: a person clicks again.
    for (let tries = 5; ; tries--) {
      const at = await page.evaluate((n) => window.strobe.place(n), id);
      const under = at && await page.evaluate(({ x, y }) => document.elementFromPoint(x, y)?.tagName ?? 'nothing', at);
      if (under !== 'CANVAS') return { lost: true }; // below the window's edge, or no longer in the picture
      await page.mouse.click(at.x, at.y);
      try {
        await page.waitForFunction(() => document.querySelector('#detail .query'), null, { timeout: 6000 });
        return commands.detail();
      } catch (e) {
        if (tries === 1) throw new Error(`a click on ${JSON.stringify(at)} of ${page.url()} shows no call: ${e}`);
      }
    }
  },
  // flame is the flame graph that the page has drawn.
  async flame() {
    await page.waitForFunction(() => { const f = window.flame?.shown(); return f?.flame && !f.busy && window.flame.root.isConnected; }, null, { timeout: 60000 });
    return page.evaluate(() => {
      const { flame, picked, found } = window.flame.shown();
      return { ...flame, picked, found, path: new URLSearchParams(location.hash.slice(1)).get('path') ?? '' };
    });
  },
  async clickNode({ id }) {
    const at = await page.evaluate((i) => window.flame.place(i), id);
    await page.mouse.click(at.x, at.y);
    return commands.flame();
  },
  async hover({ id }) {
    const at = await page.evaluate((i) => window.flame.place(i), id);
    await page.mouse.move(at.x, at.y);
    return page.locator('.tip').innerText();
  },
  async select({ of, value }) { await page.selectOption(of, value); return null; },
  async detail() {
    await page.waitForFunction(() => document.querySelector('#detail .query'), null, { timeout: 30000 });
    return page.evaluate(() => ({
      title: document.querySelector('#detail h2').title, text: document.querySelector('#detail').innerText,
      query: document.querySelector('#detail .query').innerText.replace('debug_query ', ''),
      line: document.querySelector('#detail .line.here')?.innerText ?? '',
    }));
  },
  async text({ of }) { return page.locator(of).first().innerText(); },
  async wait({ of, text }) {
    await page.waitForFunction(([s, t]) => [...document.querySelectorAll(s)].some((e) => e.innerText.includes(t)), [of, text],
      { timeout: 60000 });
    return null;
  },
  async press({ keys }) { for (const k of keys) { await page.keyboard.press(k); await page.waitForTimeout(30); } return null; },
  async focused() { return page.evaluate(() => document.activeElement.tagName + ' ' + (document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText)); },
  async said() { return page.locator('#say').innerText(); },
  async fill({ of, text }) { await page.fill(of, text); return null; },
  async choose({ of }) { await page.click(of); return null; },
  async theme({ name }) { await page.emulateMedia({ colorScheme: name }); await page.waitForTimeout(50); return null; },
  async axe({ colours }) {
    // The policy lets no script in but the page's own: it is put in by the debugger, which is above that.
    await page.evaluate(axe);
    return page.evaluate((only) => window.axe.run(only ? { runOnly: ['color-contrast'] } : {}).then((r) => r.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target).join(', ')}`)), colours ?? false);
  },
  async rows({ of }) { return page.locator(of).evaluateAll((rows) => rows.map((r) => [...r.cells].map((c) => c.innerText))); },
  async count({ of }) { return page.locator(of).count(); },
  async shot({ path }) { await page.screenshot({ path }); return null; },
  // inject tries what the policy forbids.
  async inject() {
    return page.evaluate(async () => {
      const refused = [];
      document.addEventListener('securitypolicyviolation', (e) => refused.push(e.effectiveDirective));
      const s = document.createElement('script');
      s.textContent = 'window.broken = true';
      document.body.append(s);
      const i = document.createElement('img');
      i.src = 'http://127.0.0.1:9/elsewhere.png';
      document.body.append(i);
      await fetch('http://127.0.0.1:9/').catch(() => {});
      await new Promise((r) => setTimeout(r, 100));
      s.remove();
      i.remove();
      return { broken: window.broken === true, refused };
    });
  },
  async wrong() { const w = { wrong, elsewhere }; wrong = []; elsewhere = []; return w; },
  // motion zooms and pans by the wheel for some seconds, and tells of frames.
  async motion({ seconds }) {
    const box = await page.locator('canvas').boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    const measured = page.evaluate((s) => new Promise((done) => {
      const times = [], began = performance.now(), drawn = window.strobe.frames;
      const tick = (at) => {
        times.push(at);
        if (performance.now() - began < s * 1000) requestAnimationFrame(tick);
        else done({ times, drawn: window.strobe.frames - drawn });
      };
      requestAnimationFrame(tick);
    }), seconds);
    const end = Date.now() + seconds * 1000;
    for (let n = 0; Date.now() < end; n++) {
      if (n % 40 < 30) await page.mouse.wheel(0, n % 120 < 60 ? -60 : 60);
      else await page.mouse.wheel(40, 0);
      await page.waitForTimeout(12);
    }
    const { times, drawn } = await measured, gaps = times.slice(1).map((t, i) => t - times[i]).sort((a, b) => a - b);
    return { perSecond: drawn / seconds, median: gaps[gaps.length >> 1], p95: gaps[Math.floor(gaps.length * 0.95)], worst: gaps.at(-1) };
  },
  // memory tells what the page holds, and what the process that shows it has that is nobody else's.
  async memory() {
    const c = await context.newCDPSession(page);
    await c.send('HeapProfiler.collectGarbage');
    const held = (await c.send('Runtime.getHeapUsage'));
    const all = (await (await browser.newBrowserCDPSession()).send('SystemInfo.getProcessInfo')).processInfo;
    const own = all.filter((p) => p.type === 'renderer').map((p) => {
      const text = readFileSync(`/proc/${p.id}/smaps_rollup`, 'utf8');
      return ['Private_Clean', 'Private_Dirty'].reduce((sum, k) => sum + 1024 * Number(new RegExp(`${k}:\\s+(\\d+)`).exec(text)[1]), 0);
    });
    return { held: held.usedSize + (held.backingStorageSize ?? 0), process: Math.max(...own) };
  },
  // firstPicture loads the page and tells milliseconds until its first picture was drawn.
  async firstPicture() {
    await page.reload();
    return commands.pictureShown();
  },
  // pictureOf goes to another session in the page, and tells milliseconds until its first picture was drawn.
  async pictureOf({ state }) {
    return page.evaluate((hash) => new Promise((done) => {
      const began = performance.now(), before = window.strobe;
      location.hash = hash;
      const look = () => {
        if (window.strobe !== before && window.strobe.firstAt) done({ ms: began, first: window.strobe.firstAt - began });
        else setTimeout(look, 2);
      };
      look();
    }), state);
  },
  // pictureShown is when the page that is loaded had drawn its first picture.
  async pictureShown() {
    await page.waitForFunction(() => window.strobe?.shown().picture, null, { polling: 5, timeout: 60000 });
    return page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
      done({ ms: performance.now(), first: window.strobe.firstAt })))));
  },
  async search({ text }) {
    return page.evaluate((t) => new Promise((done) => {
      const box = document.querySelector('#find'), found = document.querySelector('.found'), began = performance.now();
      const seen = new MutationObserver(() => {
        if (found.textContent) { seen.disconnect(); done({ ms: performance.now() - began, found: found.textContent }); }
      });
      seen.observe(found, { childList: true, characterData: true, subtree: true });
      box.value = t;
      box.dispatchEvent(new Event('input'));
    }), text);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const c = JSON.parse(line);
  let answer;
  try { answer = { ok: await commands[c.do](c) ?? null }; } catch (e) { answer = { failed: String(e.message ?? e) }; }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
await browser.close();
