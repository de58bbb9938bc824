// The way from an empty Forge to one that can work: a provider, a project, and the pages on it.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { Browser, inspect } from './support/browser.mjs';
import { Forge } from './support/forge.mjs';
import { ScriptedModel, say } from './support/model.mjs';
import { makeProject } from './support/project.mjs';
import { chooseModels, signIn, trustProject } from './support/steps.mjs';

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

test('an empty Forge says what to do first', () =>
  browser.visit(forge, async (page) => {
    await signIn(page, ada);
    await page.getByRole('heading', { level: 1, name: 'Welcome, Ada' }).waitFor();
    await inspect(page, 'home-empty');
  }));

test('a provider is added, tried, and its models are chosen', () =>
  browser.visit(forge, async (page) => {
    await signIn(page, ada);
    await page.getByRole('link', { name: 'Add provider' }).click();
    await page.getByRole('heading', { level: 1, name: 'Providers' }).waitFor();
    await inspect(page, 'providers-empty');
    await page.getByRole('link', { name: 'Add provider' }).first().click();
    await page.getByLabel('Name').fill('Scripted');
    await page.getByLabel('Address').fill(model.url);
    await page.getByLabel('Key', { exact: true }).fill(model.key);
    await inspect(page, 'provider-new');
    await page.getByRole('button', { name: 'Add provider' }).click();

    await page.getByRole('button', { name: 'Test' }).click();
    await page.locator('#test .notice[data-tone="good"]').waitFor();
    await model.push(say('Hello.'));
    await page.getByLabel('Model to try').fill(model.models[0]);
    await page.getByRole('button', { name: 'Test' }).click();
    await page.locator('#test').getByText(model.models[0]).waitFor();

    await chooseModels(page, model);
    await inspect(page, 'provider');

    const text = await page.content();
    assert.ok(!text.includes(model.key), 'the page has the key');
    assert.ok(text.includes(model.key.slice(-4)), 'the page does not say which key it is');
  }));

test('a project is added from a folder of the server, and trusted', async () => {
  const folder = join(forge.roots, 'greeter');
  await makeProject(folder);
  await browser.visit(forge, async (page) => {
    await signIn(page, ada);
    await page.goto('/projects/new');
    await inspect(page, 'project-new');

    page.expected.push(/status of 422/);
    await page.getByText('A folder on the server').click();
    await page.getByLabel('Folder', { exact: true }).fill('/etc');
    await page.getByRole('button', { name: 'Add project' }).click();
    await page.getByRole('alert').or(page.locator('.error')).first().waitFor();
    await inspect(page, 'project-new-refused');

    await page.getByLabel('Folder', { exact: true }).fill(folder);
    await page.getByRole('button', { name: 'Add project' }).click();
    await page.getByRole('heading', { level: 1, name: 'greeter' }).waitFor();
    await page.getByText('You have not trusted this project yet').waitFor();
    await inspect(page, 'project');
    await trustProject(page);

    await page.getByRole('link', { name: 'Files', exact: true }).click();
    await page.getByRole('link', { name: 'greet.sh' }).first().click();
    await page.getByText('Hello, %s').waitFor();
    await inspect(page, 'file');

    await page.goto('/');
    await page.getByLabel('What should be done?').waitFor();
    await inspect(page, 'home');
  });
});
