// Permission rules: the lists, and trying a command on them.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { Browser, inspect } from './support/browser.mjs';
import { Forge } from './support/forge.mjs';
import { makeProject } from './support/project.mjs';
import { signIn } from './support/steps.mjs';

let browser;
let forge;
let ada;
let project;
before(async () => {
  [browser, forge] = await Promise.all([Browser.start(), Forge.start()]);
  ada = await forge.admin();
  const folder = join(forge.roots, 'greeter');
  await makeProject(folder);
  project = await forge.api('POST', '/projects', { name: 'Greeter', path: folder });
  await forge.api('POST', `/projects/${project.id}/trust`, { trust_status: 'trusted' });
});
after(async () => {
  await browser.stop();
  await forge.remove();
});

const rows = (page, list) => page.locator(`#${list} tbody tr`);

async function add(page, list, [tool, pattern, verdict]) {
  const count = await rows(page, list).count();
  await page.getByLabel('Tool').first().selectOption(tool);
  await page.getByLabel('Pattern').fill(pattern);
  await page.getByLabel('Verdict').selectOption(verdict);
  await page.getByRole('button', { name: 'Add rule' }).click();
  await rows(page, list).nth(count).waitFor();
}

test('everybody gets a rule, and a command is tried on it', () =>
  browser.visit(forge, async (page) => {
    await signIn(page, ada);
    await page.goto('/rules');
    await inspect(page, 'rules-empty');
    await add(page, 'global-rules', ['bash', 'rm -rf *', 'deny']);
    await page.getByLabel('Command, path or host').fill('rm -rf target');
    await page.getByText('Would be denied').waitFor();
    await inspect(page, 'rules-global');
  }));

test('rules of a project are added, moved, removed and tried without leaving the page', () =>
  browser.visit(forge, async (page) => {
    await signIn(page, ada);
    await page.goto(`/projects/${project.id}`);
    await page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name: 'Rules' }).click();
    await page.getByRole('heading', { level: 1, name: 'Rules' }).waitFor();
    await add(page, 'rules', ['bash', '*', 'ask']);
    await add(page, 'rules', ['bash', 'cargo test *', 'allow']);
    await add(page, 'rules', ['edit', 'src/**', 'deny']);

    await page.getByRole('button', { name: 'Move rule 3 up' }).click();
    await rows(page, 'rules').nth(1).getByText('src/**').waitFor();
    await page.getByRole('button', { name: 'Remove rule 1' }).click();
    await rows(page, 'rules').nth(2).waitFor({ state: 'detached' });

    await page.getByLabel('Command, path or host').fill('cargo test limits && rm -rf target');
    await page.locator('#verdict [data-decides]').getByText('rm -rf target').waitFor();
    assert.equal(await page.locator('#verdict .trace > li').count(), 2);
    await inspect(page, 'rules');

    page.expected.push(/status of 422/);
    await page.getByLabel('Pattern').fill('a\u202eb');
    await page.getByRole('button', { name: 'Add rule' }).click();
    await page.locator('#rule-pattern-error').waitFor();
    await inspect(page, 'rules-error');
  }));

test('without scripts the forms do the same', () =>
  browser.visit(
    forge,
    async (page) => {
      await signIn(page, ada);
      await page.goto(`/projects/${project.id}/rules`);
      await add(page, 'rules', ['web_fetch', 'docs.rs', 'allow']);
      await page.getByLabel('Tool').last().selectOption('web_fetch');
      await page.getByLabel('Command, path or host').fill('https://docs.rs/askama');
      await page.getByRole('button', { name: 'Try' }).click();
      await page.getByText('Would be allowed').waitFor();
    },
    { javaScriptEnabled: false },
  ));
