// Commands in a real browser: what one says is seen while it runs, and one in the background is
// stopped by its button.

import assert from 'node:assert/strict';
import { access, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { Browser, inspect } from './support/browser.mjs';
import { Forge } from './support/forge.mjs';
import { ScriptedModel, call, say } from './support/model.mjs';
import { until } from './support/program.mjs';
import { makeProject } from './support/project.mjs';
import { signIn } from './support/steps.mjs';

let browser;
let forge;
let model;
let ada;
let project;
let folder;
before(async () => {
  [browser, forge, model] = await Promise.all([Browser.start(), Forge.start(), ScriptedModel.start()]);
  ada = await forge.admin();
  folder = join(forge.roots, 'greeter');
  await makeProject(folder);
  await forge.api('POST', '/providers', {
    name: 'Scripted', url: model.url, kind: 'openai', key: model.key, models: model.models,
  });
  project = await forge.api('POST', '/projects', { name: 'greeter', path: folder });
  await forge.api('POST', `/projects/${project.id}/trust`, { trust_status: 'trusted' });
  await forge.api('PUT', '/rules', { items: [{ tool: 'bash', pattern: '*', action: 'allow' }] });
});
after(async () => {
  await browser.stop();
  await forge.remove();
  await model.stop();
});

async function begin(page, text) {
  await page.goto(`/projects/${project.id}/sessions/new`);
  await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
  await page.waitForURL(/\/sessions\/\w{26}$/);
}

const idle = (page) => page.locator('#session-status [data-status="idle"]').waitFor();
const isThere = (name) => access(join(folder, name)).then(() => true, () => false);

test('what a command says is seen while it runs', () =>
  browser.visit(forge, async (page) => {
    await signIn(page, ada);
    const command = 'for n in 1 2 3; do echo "step $n of 3"; done; until [ -e go ]; do sleep 0.1; done; echo all done';
    await model.push(call('bash', { command, description: 'Build in steps' }));
    await model.push(say('It is built.'));
    await begin(page, 'Build it');
    const part = page.locator('.part.tool');
    await part.getByText('step 3 of 3', { exact: false }).last().waitFor();
    // It runs still: nobody has let it go on.
    assert.equal(await part.getAttribute('data-status'), 'running');
    await inspect(page, 'command-running');
    // Whoever comes now sees it too.
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.locator('.part.tool').getByText('step 3 of 3', { exact: false }).last().waitFor();
    await other.close();

    await writeFile(join(folder, 'go'), '');
    await page.getByText('It is built.').waitFor();
    await idle(page);
    const said = part.locator('pre[aria-label="Output"]', { hasText: 'all done' });
    await said.waitFor({ state: 'attached' });
  }));

test('a job in the background is stopped by its button', () =>
  browser.visit(forge, async (page) => {
    await signIn(page, ada);
    const command = 'echo listening; trap "" HUP; while :; do touch alive; sleep 0.1; done';
    await model.push(call('bash', { command, background: true, description: 'Serve the pages' }));
    await model.push(say('The server runs.'));
    await begin(page, 'Serve it');
    await page.getByText('The server runs.').waitFor();
    await idle(page);
    await until('the job works', () => isThere('alive'));
    const stop = page.getByRole('button', { name: 'Stop this command' });
    await stop.waitFor();
    await inspect(page, 'job-running');

    await stop.click();
    await stop.waitFor({ state: 'detached' });
    const part = page.locator('.part.tool');
    await part.getByText('The command was stopped.', { exact: false }).first().waitFor();
    await inspect(page, 'job-stopped');
    // It is gone, and not only from the page.
    const { mtimeMs } = await stat(join(folder, 'alive'));
    await new Promise((done) => setTimeout(done, 500));
    const later = await stat(join(folder, 'alive'));
    assert.equal(later.mtimeMs, mtimeMs);
  }));
