// What was used, drawn and in tables, and budgets: set on the page, and what a session says of them.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { Browser, inspect } from './support/browser.mjs';
import { Forge } from './support/forge.mjs';
import { ScriptedModel, say, usage } from './support/model.mjs';
import { makeProject } from './support/project.mjs';
import { signIn, state } from './support/steps.mjs';

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
  const [priced, unpriced] = model.models;
  await forge.api('POST', '/providers', {
    name: 'Scripted', url: model.url, kind: 'openai', key: model.key, models: [priced, unpriced],
    meta: { [priced]: { price_input: 2, price_output: 8 } },
  });
  project = await forge.api('POST', '/projects', { name: 'greeter', path });
});
after(async () => {
  await browser.stop();
  await forge.remove();
  await model.stop();
});

// Sends a prompt to a new session with a model, and answers with the session's page.
async function ask(page, name) {
  await page.goto(`/projects/${project.id}/sessions/new`);
  const model = page.getByLabel('Model', { exact: true });
  const option = model.locator('option', { hasText: name }).first();
  await model.selectOption(await option.getAttribute('value'));
  await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('Say hello');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.waitForURL(/\/sessions\/\w{26}$/);
}

test('nothing was used yet', () =>
  browser.visit(forge, async (page) => {
    await signIn(page, ada);
    await page.goto('/usage');
    await page.getByText('Nothing was used in these days').waitFor();
    await inspect(page, 'usage-empty');
  }));

test('calls are drawn, and numbers without a price are said to be so', () =>
  browser.visit(forge, async (page) => {
    await signIn(page, ada);
    for (const name of model.models) {
      await model.push(say('Hello.'), usage(40_000, 30_000, 10_000));
      await ask(page, name);
      await page.getByText('Hello.').first().waitFor();
      await state(page, 'idle');
    }
    await page.goto('/usage');
    await page.getByText('Price unknown: 1 call', { exact: true }).waitFor();
    assert.equal(await page.locator('svg.chart rect.b1').count(), 1);
    await page.getByText('The numbers', { exact: true }).click();
    await page.getByRole('rowheader', { name: model.models[0] }).waitFor();
    await inspect(page, 'usage');

    await page.getByLabel('From').fill('2020-01-01');
    await page.getByLabel('To', { exact: true }).fill('2020-01-31');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByText('Nothing was used in these days').waitFor();
  }));

test('a budget is set, stops a session, and says so', () =>
  browser.visit(forge, async (page) => {
    await signIn(page, ada);
    await page.goto('/usage');
    await page.getByLabel('For', { exact: true }).selectOption({ label: 'greeter' });
    await page.getByLabel('Dollars', { exact: true }).last().fill('0.01');
    await page.getByLabel('Each').selectOption('day');
    await page.getByRole('button', { name: 'Add budget' }).click();
    await page.getByText('Project greeter: $0.01 a day').waitFor();
    await inspect(page, 'usage-budget');

    await ask(page, model.models[0]);
    await page.getByText('for the project greeter does not allow another call').first().waitFor();
    await page.getByText('$0.00 of $0.01 left today, project').waitFor();
    await inspect(page, 'session-budget');
    await page.getByRole('link', { name: 'Set one for this session' }).click();
    const chosen = page.getByLabel('For', { exact: true }).locator('option:checked');
    assert.match(await chosen.getAttribute('value'), /^session:\w{26}$/);

    await page.goto('/usage');
    await page.getByRole('button', { name: 'Remove Project greeter' }).click();
    await page.getByText('No budget limits what you spend.').waitFor();
  }));
