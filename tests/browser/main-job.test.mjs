// The main job: a person says what should be done, watches the agent do it, answers its asks,
// and undoes and redoes it.

import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { Browser, inspect } from './support/browser.mjs';
import { Forge } from './support/forge.mjs';
import { ScriptedModel, call, gate, say, think } from './support/model.mjs';
import { contents } from './support/project.mjs';
import * as steps from './support/steps.mjs';

let browser;
let forge;
let model;
let ada;
before(async () => {
  [browser, forge, model] = await Promise.all([
    Browser.start(),
    Forge.start(),
    ScriptedModel.start(),
  ]);
  ada = await forge.admin();
});
after(async () => {
  await browser.stop();
  await forge.remove();
  await model.stop();
});

const check = '#!/bin/sh\nout=$(./greet.sh Ada)\necho "$out" | tee greeted.log\n[ "$out" = "Good day, Ada!" ]\n';

test('an agent reads, edits, runs and answers before the person’s eyes, and all of it can be undone', () =>
  browser.visit(forge, async (page) => {
    await steps.signIn(page, ada);
    await steps.addProvider(page, model);
    const folder = await steps.addProject(page, forge, 'greeter');
    await steps.trustProject(page);
    const project = page.url();

    // Somebody else's work in the same folder, which nothing below may touch.
    await writeFile(join(folder, 'own.txt'), 'Not committed.');
    await model.push(call('write', { path: 'other.txt', content: 'Of another session.\n' }));
    await model.push(say('Written.'));
    await steps.startSession(page, model, 'Write other.txt');
    await page.getByText('Written.', { exact: true }).waitFor();
    await steps.state(page, 'idle');
    const before = await contents(folder);
    assert.ok('other.txt' in before);

    // The agent stops at a gate before each step, so that the page shows it while it is held.
    const edit = (from, to) => call('edit', { path: 'greet.sh', old_string: from, new_string: to });
    const run = call('bash', { command: 'sh check.sh', description: 'Check the greeting' });
    await model.push(think('Where is the greeting?'), say('I read the script first.'), gate('read'), call('read', { path: 'greet.sh' }));
    await model.push(gate('edit'), edit('Hello, %s', 'Good day, %s'));
    await model.push(gate('write'), call('write', { path: 'check.sh', content: check }));
    await model.push(gate('fail'), run);
    await model.push(gate('mend'), edit('Good day, %s', 'Good day, %s!'));
    await model.push(gate('pass'), run);
    await model.push(gate('binary'), call('bash', { command: 'printf more >> logo.bin', description: 'Append' }));
    await model.push(call('bash', { command: './greet.sh Bob' }));
    await model.push(call('bash', { command: './greet.sh Eve' }));
    await model.push(gate('answer'), say('The greeting is **Good day** now, '), gate('end'), say('and `check.sh` checks it.'));

    await page.goto(project);
    await steps.startSession(page, model, 'Greet with “Good day, NAME!” and add a check.');
    const session = page.url();
    const timeline = page.locator('#timeline');
    const tools = timeline.locator('.part.tool');
    const shows = (text) => timeline.getByText(text).first().waitFor();
    const ran = (nth) => tools.filter({ hasText: 'sh check.sh' }).nth(nth);

    await model.reached('read');
    await steps.state(page, 'running');
    await shows('I read the script first.');
    assert.equal(await tools.count(), 0);
    await model.open('read');

    await model.reached('edit');
    await tools.filter({ hasText: 'greet.sh' }).first().waitFor();
    assert.equal(await tools.count(), 1);
    await model.open('edit');

    await model.reached('write');
    await timeline.locator('.diff ins, .diff .add').first().waitFor();
    assert.match(await tools.nth(1).innerText(), /Good day, %s/);
    await model.open('write');

    await model.reached('fail');
    await tools.filter({ hasText: 'check.sh' }).first().waitFor();
    assert.equal(await tools.count(), 3);
    assert.match((await contents(folder))['check.sh'], /^100/);
    await model.open('fail');

    // It asks, and the ask is there after a reload too.
    const ask = page.locator('.ask', { hasText: 'sh check.sh' });
    await ask.waitFor();
    await steps.state(page, 'waiting');
    await inspect(page, 'session-waiting');
    await page.reload();
    await ask.getByRole('button', { name: 'Allow once' }).click();

    await model.reached('mend');
    await ran(0).locator('.chip', { hasText: '1' }).waitFor();
    await shows('Good day, Ada');
    assert.equal(await ran(0).getAttribute('data-status'), 'error');
    await model.open('mend');
    await model.reached('pass');
    assert.equal(await tools.count(), 5);
    await model.open('pass');
    await ask.getByRole('button', { name: 'Allow once' }).click();
    await model.reached('binary');
    await ran(1).waitFor();
    await shows('Good day, Ada!');
    assert.equal(await ran(1).getAttribute('data-status'), 'done');
    await model.open('binary');

    // Allowed always, the next of its kind is not asked about.
    const other = page.locator('.ask', { hasText: './greet.sh Bob' });
    await other.getByText('Allow always…').click();
    await other.locator('input[name="pattern"]').fill('./greet.sh *');
    await inspect(page, 'session-asked-always');
    await other.getByRole('button', { name: 'Save rule and allow' }).click();

    // The answer streams: its first half is there while the second is held.
    await model.reached('answer');
    await model.open('answer');
    await model.reached('end');
    await timeline.locator('strong', { hasText: 'Good day' }).waitFor();
    assert.equal(await timeline.locator('code', { hasText: /^check\.sh$/ }).locator('xpath=ancestor::*[contains(@class,"prose")]').count(), 0);
    await model.open('end');
    await timeline.locator('.prose code', { hasText: 'check.sh' }).waitFor();
    await steps.state(page, 'idle');
    await inspect(page, 'session');

    // A reload draws what the live view drew.
    const live = await drawn(page);
    await page.reload();
    assert.deepEqual(await drawn(page), live);
    // And so does a browser that was not there.
    await browser.visit(forge, async (other) => {
      await steps.signIn(other, ada);
      await other.goto(session);
      assert.deepEqual(await drawn(other), live);
    });

    const done = await contents(folder);
    assert.deepEqual(
      Object.keys(done).filter((name) => done[name] !== before[name]).sort(),
      ['check.sh', 'greet.sh', 'greeted.log', 'logo.bin'],
    );
    await page.getByRole('link', { name: /^Changes/ }).click();
    await page.getByRole('heading', { level: 1, name: 'Changes of this session' }).waitFor();
    await page.locator('#files details.file').nth(3).waitFor();
    assert.equal(await page.locator('#files details.file').count(), 4);
    await inspect(page, 'changes');

    // Undo restores every byte, and touches nothing else.
    await page.goto(session);
    await page.getByRole('link', { name: 'Undo from here' }).click();
    await page.getByRole('button', { name: 'Undo from here' }).click();
    await page.locator('article.prompt[data-undone]').or(page.getByText('undone').first()).first().waitFor();
    assert.deepEqual(await contents(folder), before);

    // Redo brings it back.
    await page.goto(session);
    await page.locator('article.prompt[data-undone]').waitFor();
    await inspect(page, 'session-undone');
    await page.getByRole('button', { name: 'Redo' }).click();
    await page.locator('article.prompt:not([data-undone])').waitFor();
    assert.deepEqual(await contents(folder), done);

    // A file that a person changed since is named before it is touched.
    await writeFile(join(folder, 'check.sh'), 'mine\n');
    await chmod(join(folder, 'check.sh'), 0o600);
    const mine = await contents(folder);
    page.expected.push(/status of 409/);
    await page.goto(session);
    await page.getByRole('link', { name: 'Undo from here' }).click();
    await page.getByRole('button', { name: 'Undo from here' }).click();
    await page.getByText('Nothing was changed yet').waitFor();
    await page.locator('.notice code', { hasText: 'check.sh' }).waitFor();
    assert.deepEqual(await contents(folder), mine);
    await page.getByRole('button', { name: 'Undo anyway' }).click();
    await page.locator('article.prompt[data-undone]').or(page.getByText('undone').first()).first().waitFor();
    assert.deepEqual(await contents(folder), before);
  }));

// The timeline as text, part by part, without what a clock writes.
async function drawn(page) {
  await page.locator('#timeline article').first().waitFor();
  return page.locator('#timeline').evaluate((timeline) => {
    const copy = timeline.cloneNode(true);
    for (const it of copy.querySelectorAll('time, [data-since]')) it.textContent = '';
    const clean = (it) => it.textContent.replace(/\s+/g, ' ').trim();
    return [...copy.querySelectorAll('article > header, article > .prose, .part')].map(
      (it) => `${it.id} ${it.className} ${it.dataset.status ?? ''} ${clean(it)}`,
    );
  });
}
