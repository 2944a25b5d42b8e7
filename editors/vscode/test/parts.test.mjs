// The extension's parts that need no editor, with the real binary (STROBE), in node: PARTS is their bundle.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { readFileSync } from 'node:fs';

const parts = createRequire(import.meta.url)(process.env.PARTS);
const strobe = process.env.STROBE, dir = realpathSync(mkdtempSync(join(tmpdir(), 'strobe-parts-'))), ws = join(dir, 'ws');
const env = { ...process.env, PATH: [dirname(strobe), process.env.PATH].join(delimiter) };
const log = [];
let daemon, session;

before(async () => {
  cpSync(new URL('workspace', import.meta.url), ws, { recursive: true });
  execFileSync('g++', ['-g', '-O0', '-o', join(ws, 'shop'), join(ws, 'shop.cc')]);
  daemon = new parts.Daemon(async () => strobe, 'parts', (l) => log.push(l));
  const l = await daemon.call('debug_launch', { command: join(ws, 'shop'), projectRoot: ws, trace: ['**::tier_for', '**::total'] });
  session = l.sessionId;
  for (let st = ''; st !== 'exited';) {
    ({ status: st } = await daemon.call('debug_session', { action: 'status', sessionId: session }));
    assert.ok(['running', 'exited'].includes(st), st);
  }
});
after(() => { daemon.close(); rmSync(dir, { recursive: true }); });

test('the binary is found, and what is none is told from it', async () => {
  const found = await parts.find('', [], env);
  assert.equal(found.path, strobe);
  assert.match(found.version, /\S/);
  const none = await parts.find(join(dir, 'none'), [], env);
  assert.match(none.why, /strobe\.path/);
  mkdirSync(join(dir, 'bin'));
  writeFileSync(join(dir, 'bin/strobe'), '#!/bin/sh\necho another program\n');
  chmodSync(join(dir, 'bin/strobe'), 0o755);
  const other = await parts.find(join(dir, 'bin/strobe'), [], env);
  assert.match(other.why, /is not Strobe/);
});

test('errors of the daemon say what to do', async () => {
  const e = await daemon.call('debug_query', { sessionId: 'none' }).catch((f) => f);
  assert.equal(e.code, 'SESSION_NOT_FOUND');
  assert.match(e.said, /debug_session list/);
  const gone = new parts.Daemon(async () => join(dir, 'none'), 'parts', () => {});
  const f = await gone.call('debug_session', { action: 'list' }).catch((g) => g);
  assert.equal(f.code, 'ENGINE_FAILED');
});

test('a connection that ended is made again', async () => {
  daemon.close();
  const { sessions } = await daemon.call('debug_session', { action: 'list' });
  assert.ok(sessions.some((s) => s.sessionId === session));
});

test('calls and last values stand beside their lines', async () => {
  const { seen, more } = await parts.seen(daemon, session, join(ws, 'shop.cc'));
  assert.equal(more, 0);
  assert.deepEqual(seen.map((s) => s.line).sort(), [14, 19]);
  assert.match(seen.find((s) => s.line === 14).text, /^6 calls.* · last \(points=-126\) left by an exception$/);
  assert.match(seen.find((s) => s.line === 19).text, /^5 calls · last \(items=\[\{name: "café", .*→ 1940$/);
});

test('functions of a text, and the patterns that select them', () => {
  const of = (name, language) => parts.defined(readFileSync(join(ws, name), 'utf8'), language).map((f) => `${f.line} ${f.pattern}`);
  assert.deepEqual(of('shop.cc', 'cpp'), ['14 **::tier_for', '19 **::total', '29 **::main']);
  assert.deepEqual(of('cart.py', 'python'), ['1 **.discount', '6 **.checkout']);
  assert.deepEqual(of('stock.ts', 'typescript'), ['3 **.take']);
});

test('what debugging a file means', async () => {
  const o = { root: ws, env };
  assert.deepEqual((await parts.resolve(join(ws, 'shop.cc'), o)).launch, { program: join(ws, 'shop'), args: [], cwd: ws });
  assert.deepEqual((await parts.resolve(join(ws, 'shop'), { ...o, given: ['1'] })).launch.args, ['1']);
  const py = (await parts.resolve(join(ws, 'cart.py'), o)).launch;
  assert.match(py.program, /^\/.*python/);
  assert.deepEqual(py.args, [join(ws, 'cart.py')]);
  assert.deepEqual((await parts.resolve(join(ws, 'crash.cc'), o)).choose, [join(ws, 'shop')]); // or it is built
  const many = await parts.resolve(join(ws, 'crash.cc'), { ...o, root: join(ws, 'tests') });
  assert.equal(many.makes, join(ws, 'crash'));
  execFileSync(many.build[0], many.build.slice(1));
  assert.equal((await parts.resolve(join(ws, 'crash.cc'), o)).launch.program, join(ws, 'crash'));
  assert.match((await parts.resolve(join(ws, 'tests'), o)).why, /no program/);
  const ts = await parts.resolve(join(ws, 'stock.ts'), { root: ws, env: { PATH: '' } });
  assert.match(ts.why, /none of them/);
});

test('tests, and the command that runs one alone', async () => {
  const found = parts.found(readFileSync(join(ws, 'tests/test_cart.py'), 'utf8'), 'test_cart.py');
  assert.deepEqual(found.map((t) => t.name), ['test_sum', 'test_wrong']);
  assert.deepEqual(parts.words(`cd 'a b' && X=1 'it''s' "a \\" b" c\\ d`), { env: { X: '1' }, dir: 'a b', argv: ['its', 'a " b', 'c d'] });
  assert.equal(parts.words('a | b'), null);
  const ran = { framework: 'gtest', commands: ['./unit'] };
  assert.equal(parts.command({ id: "A.b'c", name: '' }, ran), `./unit --gtest_filter='A.b'\\''c'`);
});

test('the page answers by its server alone', async () => {
  const page = await parts.Page.open(strobe, (l) => log.push(l));
  try {
    assert.match((await page.get('/')).body.toString(), /<body>/);
    assert.equal((await page.get('//example.org/')).status, 307); // the same server's, with the path made clean
    assert.equal((await page.get('/api/query', 'POST', JSON.stringify({ sessionId: 'none' }))).status, 404);
    const lanes = await new Promise((done) => {
      const stop = page.listen(`/api/follow?s=${session}`, (name, data) => { if (name === 'lanes') { stop(); done(JSON.parse(data)); } }, () => done(null));
    });
    assert.equal(lanes.over, true);
  } finally {
    page.close();
  }
});
