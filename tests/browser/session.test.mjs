// A session in a real browser: streaming, asks, the queue, and a page that is the same after all that
// happens to its connection.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { Browser, inspect } from './support/browser.mjs';
import { Forge } from './support/forge.mjs';
import { ScriptedModel, call, gate, say, think, usage } from './support/model.mjs';
import { until } from './support/program.mjs';
import { makeProject } from './support/project.mjs';
import { signIn } from './support/steps.mjs';

let browser;
let forge;
let model;
let ada;
let project;
before(async () => {
  [browser, forge, model] = await Promise.all([Browser.start(), Forge.start(), ScriptedModel.start()]);
  ada = await forge.admin();
  const path = join(forge.roots, 'greeter');
  await makeProject(path);
  await forge.api('POST', '/providers', {
    name: 'Scripted', url: model.url, kind: 'openai', key: model.key, models: model.models,
  });
  project = await forge.api('POST', '/projects', { name: 'greeter', path });
  await forge.api('POST', `/projects/${project.id}/trust`, { trust_status: 'trusted' });
});
after(async () => {
  await browser.stop();
  await forge.remove();
  await model.stop();
});

// Begins a session from its own page.
async function begin(page, text) {
  await page.goto(`/projects/${project.id}/sessions/new`);
  await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
  await page.waitForURL(/\/sessions\/\w{26}$/);
}

const idle = (page) => page.locator('#session-status [data-status="idle"]').waitFor();

// What a page shows, line by line, without what htmx notes on it, what a reader has opened, and the
// clock. The order of attributes says nothing.
async function shown(page) {
  await page.locator('#live[data-htmx-powered]').waitFor({ state: 'attached' });
  return page.evaluate(() => {
    const places = ['#timeline', '#queue', '#fold-context', '#fold-todos', '#fold-changed', '#session-status', '#session-delta', '#session-name', '#composer-acts', '#session-list', '#tray'];
    const passing = ['open', 'data-htmx-powered', 'title', 'style'];
    const lines = [];
    const tell = (node, depth) => {
      const say = (text) => lines.push(' '.repeat(depth) + text);
      if (node.nodeType === Node.TEXT_NODE) {
        const text = node.textContent.replace(/\s+/g, ' ').trim();
        if (text) say(text);
      }
      if (node.nodeType !== Node.ELEMENT_NODE) return;
      const attributes = [...node.attributes].filter((it) => !passing.includes(it.name));
      const named = attributes.map(({ name, value }) => ` ${name}="${value}"`);
      say(`<${node.localName}${named.filter((it) => it !== ' class=""').sort().join('')}>`);
      if (!node.matches('time, [data-since]')) for (const it of node.childNodes) tell(it, depth + 1);
    };
    for (const place of places) tell(document.querySelector(place), 0);
    return lines;
  });
}

async function assertFresh(page, context) {
  const live = await shown(page);
  const other = await context.newPage();
  await other.goto(page.url());
  const fresh = await shown(other);
  await other.close();
  assert.deepEqual(live, fresh);
}

test('a new session is begun, streams, and ends with the page of a fresh load', () =>
  browser.visit(forge, async (page) => {
    await signIn(page, ada);
    await page.goto(`/projects/${project.id}/sessions/new`);
    await inspect(page, 'session-new');
    await model.push(
      think('The greeting is in greet.py.'),
      say('I read it **first**.\n\nThen I change it:\n\n| what | how |\n|---|---|\n| greet | shorter |\n\n'),
      gate('middle'),
      say('```python\ndef greet(name):\n    return name\n```\n\n- one\n- two'),
      call('read', { path: 'greet.py' }),
      call('grep', { pattern: 'Hello' }),
      usage(1200, 800, 90),
    );
    await model.push(
      call('edit', { path: 'greet.py', old_string: '"Hello, " + name', new_string: 'f"Hi, {name}"' }),
      call('todo_write', { todos: [{ text: 'Shorten', status: 'done' }, { text: 'Test it', status: 'in_progress' }] }),
    );
    await model.push(call('bash', { command: 'python3 -c "from greet import greet; print(greet(1))"; false' }));
    await model.push(say('All done. The greeting is short now.'), usage(2200, 1800, 40));

    await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('Make the greeting shorter.\nKeep the name.');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.waitForURL(/\/sessions\/\w{26}$/);
    await model.reached('middle');
    await page.locator('.part.prose[data-live] td', { hasText: 'shorter' }).waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await inspect(page, 'session-streaming');

    // A draft and a thought that is open stay, whatever the stream brings.
    await page.locator('.reason summary').click();
    await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('half a thought');
    await page.getByRole('textbox', { name: 'Prompt', exact: true }).focus();
    await model.open('middle');
    const ask = page.locator('.ask');
    await ask.getByRole('heading', { name: 'Run this command?' }).waitFor();
    assert.equal(await page.getByRole('textbox', { name: 'Prompt', exact: true }).inputValue(), 'half a thought');
    assert.ok(await page.getByRole('textbox', { name: 'Prompt', exact: true }).evaluate((it) => it === document.activeElement));
    assert.ok(await page.locator('.reason details').evaluate((it) => it.open));
    await inspect(page, 'session-waiting');
    await assertFresh(page, page.context());

    await ask.getByRole('button', { name: 'Allow once' }).click();
    await idle(page);
    await page.getByText('The greeting is short now.').waitFor();
    assert.match(await page.locator('#announcer').textContent(), /The agent is done/);
    await inspect(page, 'session-done');
    await assertFresh(page, page.context());
    assert.equal(await page.locator('.part.prose', { hasText: 'I read it first' }).count(), 1);
  }));

test('what is sent meanwhile waits, and steers', () =>
  browser.visit(forge, async (page) => {
    await signIn(page, ada);
    await model.push(say('Working '), gate('work'), say('on it.'), call('list', {}));
    await model.push(say('Steered.'));
    await model.push(say('And the last.'));
    await begin(page, 'Begin');
    await model.reached('work');
    const prompt = page.getByRole('textbox', { name: 'Prompt', exact: true });
    await prompt.fill('Afterwards this');
    await prompt.press('Enter');
    await page.locator('#queue li', { hasText: 'Afterwards this' }).waitFor();
    assert.equal(await prompt.inputValue(), '');
    await prompt.fill('At once that');
    await prompt.press('Control+Enter');
    await page.locator('#queue li', { hasText: 'At once that' }).getByText('At the next step').waitFor();
    await prompt.fill('A third');
    await prompt.press('Enter');
    const third = page.locator('#queue li', { hasText: 'A third' });
    await third.getByRole('link', { name: 'Edit queued prompt' }).click();
    const edit = page.getByRole('textbox', { name: 'Queued prompt' });
    await edit.fill('The third');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('#queue li', { hasText: 'The third' }).waitFor();
    await inspect(page, 'session-queue');
    await page.locator('#queue li', { hasText: 'The third' }).getByRole('button', { name: 'Remove queued prompt' }).click();
    await page.locator('#queue li', { hasText: 'The third' }).waitFor({ state: 'detached' });
    await model.open('work');
    await page.getByText('And the last.').waitFor();
    await idle(page);
    await assertFresh(page, page.context());
  }));

test('a connection that is cut in the middle loses and doubles nothing', () =>
  browser.visit(forge, async (page) => {
    page.expected.push(/events.*ERR_|Failed to load resource|htmx: htmx:sse:error/);
    await signIn(page, ada);
    await model.push(say('Before the cut. '), gate('cut'), say('Behind the cut.'), call('read', { path: 'AGENTS.md' }), call('list', {}));
    await model.push(say('Last words '), gate('cut-2'), say('are here.'));
    await begin(page, 'Go on for long');
    await model.reached('cut');
    await page.getByText('Before the cut.').waitFor();
    await page.context().setOffline(true);
    await page.evaluate(() => document.querySelector('#live')._htmx.sse.reader.cancel());
    await model.open('cut');
    await model.reached('cut-2');
    await page.context().setOffline(false);
    await page.getByText('Last words').waitFor();
    await model.open('cut-2');
    await page.getByText('are here.').waitFor();
    await idle(page);
    await assertFresh(page, page.context());
    assert.equal(await page.getByText('Before the cut.').count(), 1);
  }));

test('a stopped agent, another try and a failure are told', () =>
  browser.visit(forge, async (page) => {
    await signIn(page, ada);
    const overloaded = { fault: { status: 529, body: { error: { message: 'overloaded' } } } };
    await model.push(overloaded, { header: { name: 'retry-after', value: '60' } });
    await model.push(say('Now it works, '), gate('stop'));
    await begin(page, 'Try');
    await page.locator('#retry').getByText('Trying again in').waitFor();
    await inspect(page, 'session-retry');
    await page.getByRole('button', { name: 'Try now' }).click();
    await model.reached('stop');
    await page.locator('#retry').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.locator('#session-status [data-status="aborted"]').waitFor();
    await model.open('stop');
    await assertFresh(page, page.context());

    await model.push({ fault: { status: 401, body: { error: { message: 'no such key' } } } });
    await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('Again');
    await page.getByRole('textbox', { name: 'Prompt', exact: true }).press('Enter');
    await page.locator('.failure').getByText('What the provider said').waitFor();
    await inspect(page, 'session-failed');
    await assertFresh(page, page.context());
  }));

test('changes are shown and undone, and without scripts everything works too', () =>
  browser.visit(forge, async (page) => {
    page.expected.push(/status of 409/);
    await signIn(page, ada);
    await model.push(call('write', { path: 'notes/a.txt', content: 'one\ntwo\n' }));
    await model.push(say('Written.'));
    await begin(page, 'Write a note');
    await idle(page);
    await page.getByRole('link', { name: 'Undo from here' }).click();
    await page.getByRole('heading', { level: 1, name: 'Changes of one prompt' }).waitFor();
    await inspect(page, 'session-diff');
    await page.getByRole('link', { name: 'Split' }).click();
    await inspect(page, 'session-diff-split');
    await page.getByRole('button', { name: 'Undo from here' }).click();
    await page.locator('.prompt[data-undone]').waitFor();
    await inspect(page, 'session-undone');

    const plain = await page.context().browser().newContext({ baseURL: forge.base, javaScriptEnabled: false });
    const other = await plain.newPage();
    await signIn(other, ada);
    await other.goto(new URL(page.url()).pathname);
    await model.push(say('Hello without scripts.'));
    await other.getByRole('textbox', { name: 'Prompt', exact: true }).fill('Say hello');
    const sent = other.waitForNavigation();
    await other.getByRole('button', { name: 'Send' }).click();
    await sent;
    await until('the answer is there', async () => {
      await other.reload();
      return (await other.getByText('Hello without scripts.').count()) === 1;
    });
    await plain.close();
    await page.getByText('Hello without scripts.').waitFor();
    await page.locator('.prompt', { hasText: 'Write a note' }).waitFor({ state: 'detached' });
    await assertFresh(page, page.context());
  }));
