// What a person does with the extension, step by step.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { modules } from './editor.mjs';

/** launched debugs a file up to a breakpoint, has a variable changed, and steps. */
async function launched(e, file, line, frame, variable, value, then = frame, shot = '') {
  await e.breakAt(file, line);
  await e.command('Strobe: Debug with Strobe');
  await e.stopped(frame);
  await e.expand('Locals');
  await e.variable(variable).waitFor();
  await e.setVariable(variable, value);
  if (shot) await e.shot(shot);
  await e.command('Debug: Step Over');
  await e.stopped(then);
}

async function console_(e, text) {
  await e.command('Debug Console: Focus on Debug Console View');
  await e.page.locator('.repl .monaco-list-row', { hasText: text }).first().waitFor();
}

export const steps = {
  async 'c++'(e) {
    await launched(e, 'shop.cc', 22, 'shop::total', 'sum', '1000', 'shop::total', 'stopped');
    await e.command('Remove All Breakpoints');
    await e.command('Debug: Continue');
    await e.over();
    await console_(e, 'day 4: ');
  },

  async python(e) {
    await launched(e, 'cart.py', 3, 'discount', 'rate', '50', 'checkout');
    await e.clear();
  },

  async typescript(e) {
    await launched(e, 'stock.ts', 5, 'take', 'left', '4');
    await e.clear();
  },

  async logpoint(e) {
    await e.open('shop.cc', 16);
    await e.command('Debug: Add Logpoint');
    await e.page.locator('.breakpoint-widget .monaco-editor.focused').waitFor(); // else the file gets what is typed
    await e.page.keyboard.type('tier of {points}');
    await e.page.keyboard.press('Enter');
    await e.page.locator('.codicon-debug-breakpoint-log, .codicon-debug-breakpoint-log-unverified').first().waitFor();
    await e.command('Strobe: Debug with Strobe');
    await console_(e, 'tier of 970');
    await e.over();
    await e.clear();
  },

  async exception(e) { // machine code does not pause at exceptions, and says so
    await e.open('stock.ts');
    await e.command('View: Show Run and Debug');
    const all = e.page.locator('.debug-breakpoints .monaco-list-row', { hasText: 'All exceptions' }).locator('.monaco-checkbox, input').first();
    await all.click();
    await e.open('stock.ts');
    await e.command('Strobe: Debug with Strobe');
    await e.stopped('take');
    await e.page.locator('.exception-widget', { hasText: 'no tea left' }).waitFor();
    await e.shot('exception');
    await e.command('View: Show Run and Debug');
    await all.click();
    await e.page.waitForFunction(() => { // a click on what is drawn anew is lost
      const row = [...document.querySelectorAll('.debug-breakpoints .monaco-list-row')].find((r) => /All exceptions/.test(r.textContent));
      const box = row?.querySelector('.monaco-checkbox, input');
      return box && !(box.checked ?? box.getAttribute('aria-checked') === 'true');
    });
    await e.clear();
  },

  async trace(e) {
    await e.open('shop.cc');
    for (const line of [14, 19]) {
      await e.page.locator('.codelens-decoration a', { hasText: 'Trace with Strobe' }).first().click();
      await e.page.locator('.codelens-decoration a', { hasText: 'Traced by Strobe' }).nth(line === 14 ? 0 : 1).waitFor();
    }
    await e.command('Strobe: Debug with Strobe');
    await e.page.waitForFunction(() => [...document.styleSheets].some((s) => [...s.cssRules].some((r) => /6 calls/.test(r.cssText))));
    await e.over();
    await e.open('shop.cc', 14);
    await e.shot('traced');
  },

  async sessions(e) {
    await e.command('Strobe: Focus on Sessions View');
    const row = e.page.locator('.pane-body .monaco-list-row', { hasText: /^shop-.*exited/ }).first();
    await row.waitFor();
    await row.click();
    await e.page.locator('.pane-body .monaco-list-row', { hasText: '2 traced functions' }).first().waitFor();
  },

  async timeline(e) {
    await e.command('View: Hide Panel');
    await e.command('Strobe: Open Timeline');
    const f = await e.frame('main canvas');
    await f.waitForFunction(() => window.strobe?.shown().picture?.count > 0);
    const box = await (await f.frameElement()).boundingBox(), shown = f.locator('#detail h2');
    for (let tries = 12; tries > 0 && !await shown.isVisible(); tries--) { // a click on calls that are added up zooms in
      await f.waitForFunction(() => !window.strobe.shown().busy);
      const at = await f.evaluate(() => window.strobe.place(window.strobe.shown().picture.id[0]));
      if (at) await e.page.mouse.click(box.x + at.x, box.y + at.y);
      await shown.waitFor({ timeout: 1500 }).catch(() => {});
    }
    await shown.waitFor();
    await e.shot('timeline');
    const axe = readFileSync(createRequire(modules + '/').resolve('axe-core/axe.min.js'), 'utf8');
    await f.evaluate(axe);
    const { violations } = await f.evaluate(() => window.axe.run(document.body));
    assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes[0].html}`), []);
    await f.locator('#detail .place').click();
    await e.page.locator('.tab.active', { hasText: 'shop.cc' }).first().waitFor();
  },

  async query(e) {
    await e.command('Strobe: Query Events');
    const f = await e.frame('form[aria-label=Query]');
    await f.locator('input[name=Function]').fill('tier_for');
    await f.locator('select[name=Kind]').selectOption('function_enter');
    await f.locator('button', { hasText: 'Ask' }).click();
    await f.locator('.said', { hasText: /^6 of 6 events/ }).waitFor();
    await f.locator('th button', { hasText: 'Values' }).click();
    const values = await f.locator('tbody tr td:nth-child(4)').allTextContents();
    assert.deepEqual(values, [...values].sort((a, b) => a.localeCompare(b)));
    assert.ok(values.includes('points=-126'), values.join());
    await f.locator('select[name=View]').selectOption('stats');
    await f.locator('.said', { hasText: 'of 1 functions' }).waitFor();
    await f.locator('tbody td', { hasText: 'shop::tier_for' }).waitFor();
    await f.locator('select[name=View]').selectOption('events');
    await f.locator('.said', { hasText: /^6 of 6 events/ }).waitFor();
    await e.shot('query');
  },

  async tests(e) {
    await e.command('Testing: Focus on Test Explorer View');
    const file = e.page.locator('.test-explorer .monaco-list-row', { hasText: 'test_cart.py' }).first();
    await file.waitFor();
    if (await file.getAttribute('aria-expanded') === 'false') await file.locator('.monaco-tl-twistie').click();
    await e.command('Test: Run All Tests');
    await e.page.locator('.test-explorer .monaco-list-row', { hasText: 'test_wrong' }).locator('.codicon-testing-failed-icon').waitFor();
    await e.page.locator('.test-explorer .monaco-list-row', { hasText: 'test_sum' }).locator('.codicon-testing-passed-icon').waitFor();
    await e.breakAt('test_cart.py', 11);
    await e.command('Test: Debug Test at Cursor');
    await e.stopped('test_wrong');
    await e.shot('test');
    await e.clear();
  },

  async crash(e) {
    await e.open('crash.cc');
    await e.command('Strobe: Debug with Strobe');
    await e.page.locator('.quick-input-widget .monaco-list-row', { hasText: 'Build crash.cc' }).click();
    const told = await e.notice('crashed in sum (crash.cc:10)');
    await e.shot('crash');
    await told.locator('.monaco-button', { hasText: 'Open the place' }).click();
    await e.clear();
  },

  async 'data breakpoint'(e) {
    await e.breakAt('shop.cc', 22);
    await e.command('Strobe: Debug with Strobe');
    await e.stopped('shop::total');
    await e.expand('Locals');
    const set = e.page.locator('.debug-breakpoints .monaco-list-row', { hasText: 'sum' }).first();
    for (let tries = 5; tries > 0 && !await set.isVisible(); tries--) { // a menu that has just come takes no click
      await e.variable('sum').click({ button: 'right' });
      await e.page.locator('.monaco-menu .action-item', { hasText: 'Break on Value Change' }).first().hover();
      await e.page.waitForTimeout(400);
      await e.page.keyboard.press('Enter');
      await set.waitFor({ timeout: 5000 }).catch(() => e.page.keyboard.press('Escape'));
    }
    await set.waitFor();
    await e.open('shop.cc', 22);
    await e.page.keyboard.press('F9'); // the other one is in its way
    await e.command('Debug: Continue');
    await e.page.locator('.pane-header', { hasText: /Paused on data breakpoint/i }).first().waitFor();
    await e.variable('sum').locator('.value', { hasText: '500' }).waitFor();
    await e.shot('data');
    await e.clear();
  },

  async 'step back'(e) { // shop's functions are traced since the step before
    await e.breakAt('shop.cc', 34);
    await e.command('Strobe: Debug with Strobe');
    await e.stopped('main');
    const back = e.page.locator('.codicon-debug-step-back').first(); // it is no command of the palette
    await back.click();
    await e.stopped('[past] shop::total');
    await e.expand('Result');
    await e.shot('past');
    await back.click();
    await e.stopped('[past] shop::total');
    await e.clear();
  },

  async start(e) {
    await e.command('Developer: Show Running Extensions');
    const rows = e.page.locator('.runtime-extensions-editor .monaco-list-row'), row = rows.filter({ hasText: /strobe/i }).first();
    await rows.first().click();
    for (let tries = 40; tries > 0 && !await row.isVisible(); tries--) { // the slowest stand first
      await e.page.keyboard.press('PageDown');
      await e.page.waitForTimeout(100);
    }
    const took = /(\d+)\s*ms/.exec(await row.locator('.activation-time').textContent());
    assert.ok(took && Number(took[1]) < 1000, `activated in ${took?.[0]}`);
    console.log(`     the extension starts in ${took[1]} ms`);
  },

  async walkthrough(e) {
    await e.command('Welcome: Open Walkthrough');
    await e.page.keyboard.type('See What a Program Does');
    await e.page.keyboard.press('Enter');
    await e.page.locator('.gettingStartedContainer', { hasText: 'Debug with Strobe' }).first().waitFor();
    await e.shot('walkthrough');
  },

  async missing(e) {
    mkdirSync(join(e.ws, '.vscode'), { recursive: true });
    writeFileSync(join(e.ws, '.vscode/settings.json'), JSON.stringify({ 'strobe.path': '/nowhere/strobe' }));
    const notice = e.page.locator('.notifications-toasts .notification-list-item', { hasText: 'The setting strobe.path names /nowhere/strobe' }).first();
    for (let tries = 6; tries > 0 && !await notice.isVisible(); tries--) { // the editor sees its settings' file change when it likes
      await e.open('shop.cc');
      await e.command('Strobe: Debug with Strobe');
      await notice.waitFor({ timeout: 8000 }).catch(() => {});
    }
    await notice.locator('.monaco-button', { hasText: 'How to install' }).waitFor();
  },
};
