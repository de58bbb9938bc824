// Accounts: one's own, other people's, and what each of them does not get to see.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Browser, inspect } from './support/browser.mjs';
import { Forge, password } from './support/forge.mjs';
import { addProject, signIn } from './support/steps.mjs';

let browser;
let forge;
let ada;
before(async () => {
  [browser, forge] = await Promise.all([Browser.start(), Forge.start()]);
  ada = await forge.admin();
});
after(async () => {
  await browser.stop();
  await forge.remove();
});

test('a person has an account page, and makes a token that works once seen', () =>
  browser.visit(forge, async (page) => {
    await signIn(page, ada);
    await page.goto('/account');
    await inspect(page, 'account');
    const form = page.locator('form[action$="/account/tokens"]');
    await form.getByLabel('Name').fill('laptop');
    await form.getByRole('button').click();
    const secret = page.locator('.secret code, .secret input, code.secret').first();
    await secret.waitFor();
    const token = ((await secret.textContent()) || (await secret.inputValue())).trim();
    await inspect(page, 'account-token');
    const headers = { authorization: `Bearer ${token}` };
    assert.equal((await fetch(`${forge.base}/api/v1/me`, { headers })).status, 200);
    await page.goto('/account');
    assert.ok(!(await page.content()).includes(token), 'the token is shown again');
  }));

test('an administrator adds people, who see nothing of anybody else', () =>
  browser.visit(forge, async (page) => {
    await signIn(page, ada);
    await addProject(page, forge, 'secret-plans');
    const project = new URL(page.url()).pathname;
    await page.goto('/admin/users');
    await inspect(page, 'users');
    await forge.api('POST', '/users', { login: 'bob', name: 'Bob', password, admin: false });
    await page.reload();
    await page.getByRole('link', { name: 'Bob' }).click();
    await page.getByRole('heading', { level: 1, name: 'Bob' }).waitFor();
    await inspect(page, 'user');

    await browser.visit(forge, async (bobs) => {
      bobs.expected.push(/status of 404/);
      await signIn(bobs, { login: 'bob', password });
      assert.ok(!(await bobs.content()).includes('secret-plans'));
      await inspect(bobs, 'home-member');
      for (const path of [project, '/projects/01ARZ3NDEKTSV4RRFFQ69G5FAV', '/nowhere']) {
        const answer = await bobs.goto(path);
        assert.equal(answer.status(), 404, path);
      }
      await inspect(bobs, 'not-found');
      assert.equal((await bobs.goto('/admin/users')).status(), 404);
    });

    // Signed out by the administrator, he is out with his next click.
    const bob = (await forge.api('GET', '/users')).items.find((it) => it.login === 'bob');
    await browser.visit(forge, async (bobs) => {
      bobs.expected.push(/status of 40[134]/);
      await signIn(bobs, { login: 'bob', password });
      await forge.api('PATCH', `/users/${bob.id}`, { disabled: true });
      await bobs.goto('/account');
      assert.equal(new URL(bobs.url()).pathname, '/sign-in');
    });
  }));
