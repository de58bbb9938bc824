// What administrators see of the whole server: the sandbox, as this host was found to enforce it, and
// the settings.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Browser, inspect } from './support/browser.mjs';
import { Forge, password } from './support/forge.mjs';
import { signIn } from './support/steps.mjs';

let browser;
let forge;
let ada;
before(async () => {
  const env = { FORGE_SANDBOX__PRIVATE_HOSTS: '["mirror.internal"]' };
  [browser, forge] = await Promise.all([Browser.start(), Forge.start({ env })]);
  ada = await forge.admin();
});
after(async () => {
  await browser.stop();
  await forge.remove();
});

test('the sandbox says what it keeps in, and is tried again', () =>
  browser.visit(forge, async (page) => {
    await signIn(page, ada);
    await page.goto('/account');
    await page.getByRole('link', { name: 'Sandbox', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Sandbox' }).waitFor();
    const verdict = page.getByRole('status').filter({ hasText: 'Try again' });
    const title = await verdict.locator('strong').textContent();
    assert.match(title, /is in force|are in force/);
    const walls = page.getByRole('table').first().getByRole('row');
    const before = await walls.allTextContents();
    assert.ok(before.some((it) => /Landlock/.test(it) && /Works/.test(it)), before.join('\n'));
    await page.getByRole('heading', { name: 'A command cannot' }).waitFor();
    await page.getByText('mirror.internal').waitFor();
    assert.equal(await page.getByText('Tried again just now.').count(), 0);
    await inspect(page, 'sandbox');

    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Tried again just now.').waitFor();
    // Nothing about the host has changed meanwhile.
    assert.equal(await verdict.locator('strong').textContent(), title);
    assert.deepEqual(await walls.allTextContents(), before);
    await inspect(page, 'sandbox-tried');
  }));

test('what is set on the page holds, and is seen by whoever comes next', () =>
  browser.visit(forge, async (page) => {
    await signIn(page, ada);
    await page.goto('/admin/settings');
    await inspect(page, 'settings-before');
    const members = page.getByRole('checkbox', { name: 'Members may have providers' });
    assert.ok(await members.isChecked());
    await members.uncheck();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Set here', { exact: true }).waitFor();
    await page.reload();
    assert.ok(!(await members.isChecked()));
    assert.equal(await page.getByText('Set here', { exact: true }).count(), 1);
    await inspect(page, 'settings-after');
  }));

test('neither page is there for a member', async () => {
  await forge.api('POST', '/users', { login: 'bob', name: 'Bob', password, admin: false });
  await browser.visit(forge, async (page) => {
    page.expected.push(/404/);
    await signIn(page, { login: 'bob', password });
    for (const path of ['/admin/sandbox', '/admin/settings']) {
      const answer = await page.goto(path);
      assert.equal(answer.status(), 404, path);
    }
  });
});
