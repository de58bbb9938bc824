// What goes with a prompt in a real browser: files that are chosen, pasted and dropped, and the choice of a model.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { Browser, inspect, phone } from './support/browser.mjs';
import { Forge } from './support/forge.mjs';
import { ScriptedModel, gate, say, usage } from './support/model.mjs';
import { root, until } from './support/program.mjs';
import { makeProject } from './support/project.mjs';
import { signIn } from './support/steps.mjs';

let browser;
let forge;
let model;
let ada;
let project;
let provider;
const many = Array.from({ length: 150 }, (_, at) => `maker/model-${String(at).padStart(3, '0')}`);
before(async () => {
  [browser, forge, model] = await Promise.all([Browser.start(), Forge.start(), ScriptedModel.start()]);
  ada = await forge.admin();
  const path = join(forge.roots, 'greeter');
  await makeProject(path);
  const meta = { [model.models[0]]: { context: 128000, reasoning: true, images: true, price_input: 2, price_output: 8 } };
  provider = await forge.api('POST', '/providers', {
    name: 'Scripted', url: model.url, kind: 'openai', key: model.key, models: [...model.models, ...many], meta,
  });
  project = await forge.api('POST', '/projects', { name: 'greeter', path });
});
after(async () => {
  await browser.stop();
  await forge.remove();
  await model.stop();
});

const picture = readFileSync(join(root, 'tests/browser/picture.png'));
const prompt = (page) => page.getByRole('textbox', { name: 'Prompt', exact: true });
const attached = (page) => page.locator('.composer .attached li');
const idle = (page) => page.locator('#session-status [data-status="idle"]').waitFor();

async function begin(page, text) {
  await page.goto(`/projects/${project.id}/sessions/new`);
  await prompt(page).fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
  await page.waitForURL(/\/sessions\/\w{26}$/);
}

// Lets a file be pasted or dropped, as a person does it from outside the browser.
const give = (page, selector, type, name) =>
  page.evaluate(
    async ([place, kind, file, base64]) => {
      const bytes = Uint8Array.from(atob(base64), (it) => it.charCodeAt(0));
      const data = new DataTransfer();
      data.items.add(new File([bytes], file, { type: 'image/png' }));
      const element = document.querySelector(place);
      const options = { bubbles: true, cancelable: true };
      if (kind === 'paste') element.dispatchEvent(new ClipboardEvent('paste', { ...options, clipboardData: data }));
      for (const step of kind === 'drop' ? ['dragover', 'drop'] : []) {
        element.dispatchEvent(new DragEvent(step, { ...options, dataTransfer: data }));
      }
    },
    [selector, type, name, picture.toString('base64')],
  );

test('files are chosen, pasted and dropped, taken out, sent and shown', () =>
  browser.visit(forge, async (page) => {
    page.expected.push(/status of 422/);
    await signIn(page, ada);
    await page.goto(`/projects/${project.id}/sessions/new`);
    await page.getByLabel('Attach files').setInputFiles([
      { name: 'first.png', mimeType: 'image/png', buffer: picture },
      { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('one\n') },
    ]);
    await attached(page).nth(1).waitFor();
    await give(page, '#text', 'paste', 'pasted.png');
    await attached(page).nth(2).waitFor();
    await give(page, '#scroller', 'drop', 'dropped.png');
    await attached(page).nth(3).waitFor();
    assert.equal(await page.locator('.composer canvas.thumb').count(), 3);
    await page.getByRole('button', { name: 'Remove first.png' }).click();
    await until('it is gone', async () => (await attached(page).count()) === 3);
    await inspect(page, 'composer-files');
    await model.push(say('Three files. '), gate('seen'), usage(1500, 1200, 30));
    await prompt(page).fill('What are these?');
    await prompt(page).press('Enter');
    await page.waitForURL(/\/sessions\/\w{26}$/);
    await model.reached('seen');
    const sent = JSON.stringify((await model.requests()).at(-1));
    assert.equal(sent.split('data:image/png;base64,').length - 1, 2, 'two images were sent');
    assert.ok(sent.includes('notes.txt'));

    // While it runs an image alone waits, without a word.
    await give(page, '#text', 'paste', 'alone.png');
    await attached(page).first().waitFor();
    await prompt(page).press('Enter');
    await page.locator('#queue').getByText('1 file').waitFor();
    await until('the form is empty', async () => (await attached(page).count()) === 0);
    await model.push(say('One more.'));
    await model.open('seen');
    await page.getByText('One more.').waitFor();
    await idle(page);
    const shown = page.locator('.prompt .attached img');
    await until('the pictures are there', async () =>
      shown.evaluateAll((all) => all.length === 3 && all.every((it) => it.complete && it.naturalWidth > 0)));
    await page.getByText('1,500 in, 1,200 of it cached').waitFor();
    await inspect(page, 'session-files');

    // What is refused stays in the form, to be mended.
    await page.getByLabel('Attach files').setInputFiles({ name: 'a.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.7\n\xff', 'latin1') });
    await prompt(page).fill('And this?');
    await prompt(page).press('Enter');
    await page.locator('.toast', { hasText: 'a.pdf is no PNG' }).waitFor();
    assert.equal(await prompt(page).inputValue(), 'And this?');
    assert.equal(await attached(page).count(), 1);
  }));

test('a model is searched, liked and told how much to think', () =>
  browser.visit(forge, async (page) => {
    await signIn(page, ada);
    await model.push(say('Hello.'));
    await begin(page, 'Hello');
    await idle(page);
    const select = page.getByLabel('Model', { exact: true });
    await page.locator('#model-settings').evaluate((it) => it.setAttribute('data-before', ''));
    await select.selectOption({ label: model.models[0] });
    await page.locator('#model-settings:not([data-before])').waitFor();
    await page.getByLabel('Reasoning effort').selectOption('high');
    await page.getByLabel('Temperature').fill('0.2');
    await prompt(page).fill('Think');
    await model.push(say('I did.'));
    await prompt(page).press('Enter');
    await page.getByText('I did.').waitFor();
    await idle(page);
    const { reasoning_effort: effort, temperature } = (await model.requests()).at(-1);
    assert.deepEqual([effort, temperature], ['high', 0.2]);

    // By keyboard alone.
    await page.getByRole('link', { name: 'Search all that can be used' }).focus();
    await page.keyboard.press('Enter');
    const search = page.getByRole('searchbox', { name: 'Search models' });
    await search.waitFor();
    await until('the search has the focus', () => search.evaluate((it) => it === document.activeElement));
    await inspect(page, 'models-dialog');
    await page.keyboard.type('149 scripted');
    await page.locator('#pick [data-model]', { hasText: 'Use' }).first().waitFor();
    await until('one is found', async () => (await page.locator('#pick [data-model]').count()) === 1);
    await page.getByRole('button', { name: 'Favourite: maker/model-149' }).click();
    await page.locator('#pick .star[aria-pressed="true"]').waitFor();
    await search.focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.locator('#pick').waitFor({ state: 'hidden' });
    assert.equal(await select.inputValue(), `${provider.id}/maker/model-149`);
    await page.getByLabel('Reasoning effort').waitFor({ state: 'detached' });
    await model.push(say('As another.'));
    await prompt(page).fill('Again');
    await prompt(page).press('Enter');
    await page.getByText('As another.').waitFor();
    await idle(page);
    assert.equal((await model.requests()).at(-1).model, 'maker/model-149');
    await page.reload();
    assert.equal(await select.locator('optgroup').first().getAttribute('label'), 'Favourites');

    await page.setViewportSize(phone);
    await page.getByLabel('Attach files').setInputFiles({ name: 'phone.png', mimeType: 'image/png', buffer: picture });
    await attached(page).first().waitFor();
    await page.getByRole('button', { name: 'Remove phone.png' }).click();
    await until('it is gone', async () => (await attached(page).count()) === 0);
  }));

test('without scripts files are sent and models are chosen too', () =>
  browser.visit(
    forge,
    async (page) => {
      await signIn(page, ada);
      await page.goto(`/projects/${project.id}/sessions/new`);
      await page.getByLabel('Attach files').setInputFiles({ name: 'plain.png', mimeType: 'image/png', buffer: picture });
      await model.push(say('Seen.'));
      await page.getByRole('button', { name: 'Send' }).click();
      await page.waitForURL(/\/sessions\/\w{26}$/);
      await page.locator('.prompt .attached', { hasText: 'plain.png' }).waitFor();
      await page.getByRole('link', { name: 'Search all that can be used' }).click();
      await page.getByRole('searchbox', { name: 'Search models' }).fill('model-077');
      await page.keyboard.press('Enter');
      await page.getByText('maker/model-077').waitFor();
      await page.getByRole('button', { name: 'Favourite: maker/model-077' }).click();
      await page.locator('.star[aria-pressed="true"]').waitFor();
      await page.getByRole('button', { name: 'Use maker/model-077' }).click();
      await page.waitForURL(/\/sessions\/\w{26}$/);
      assert.equal(await page.getByLabel('Model', { exact: true }).inputValue(), `${provider.id}/maker/model-077`);
    },
    { javaScriptEnabled: false },
  ));

test('an admin enters what a list does not say', () =>
  browser.visit(forge, async (page) => {
    page.expected.push(/status of 422/);
    await signIn(page, ada);
    await page.goto(`/providers/${provider.id}`);
    await page.getByRole('searchbox', { name: 'Filter' }).fill('model-011');
    await page.getByRole('link', { name: 'Enter values of maker/model-011' }).click();
    await page.getByLabel('Context, in tokens').fill('many');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('give a whole number').waitFor();
    await inspect(page, 'provider-model');
    await page.getByLabel('Context, in tokens').fill('64000');
    await page.getByLabel('Reads images').selectOption('yes');
    await page.getByLabel('Input, $ per million tokens').fill('0.15');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('searchbox', { name: 'Filter' }).fill('model-011');
    const row = page.locator('#model-rows tr', { hasText: 'maker/model-011' });
    await until('it alone is shown', async () => (await page.locator('#model-rows tbody tr').count()) === 1);
    await row.getByText('64k').waitFor();
    assert.equal(await row.getByText('entered').count(), 3);
    await inspect(page, 'provider-models');
    await page.getByRole('button', { name: 'Read models again' }).click();
    await page.locator('.toast', { hasText: 'Models read.' }).waitFor();
    await page.getByRole('searchbox', { name: 'Filter' }).fill('model-011');
    await until('it alone is shown', async () => (await page.locator('#model-rows tbody tr').count()) === 1);
    assert.equal(await row.getByText('entered').count(), 3);
  }));
