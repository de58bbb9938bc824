// Before anybody is in: the first administrator, and signing in.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Browser, inspect, tabTo } from './support/browser.mjs';
import { Forge, password } from './support/forge.mjs';
import { signIn } from './support/steps.mjs';

let browser;
before(async () => {
  browser = await Browser.start();
});
after(() => browser.stop());

async function withForge(use) {
  const forge = await Forge.start();
  try {
    await use(forge);
  } finally {
    await forge.remove();
  }
}

test('the first person becomes the administrator, with the token from the terminal', () =>
  withForge(async (forge) => {
    const [link] = await forge.program.line(/http:\S+\/setup\?token=\S+/);
    await browser.visit(forge, async (page) => {
      await page.goto('/projects/new');
      assert.equal(new URL(page.url()).pathname, '/setup');
      await inspect(page, 'setup');

      page.expected.push(/status of 422/);
      await page.getByLabel('Setup token').fill('0123456789');
      await page.getByLabel('Your name').fill('Ada');
      await page.getByLabel('Login').fill('ada');
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Create account' }).click();
      await page.getByText('That is not the token of this start.').waitFor();
      assert.equal(await page.getByLabel('Your name').inputValue(), 'Ada');
      await inspect(page, 'setup-refused');

      await page.goto(link);
      await page.getByLabel('Your name').fill('Ada');
      await page.getByLabel('Login').fill('ada');
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Create account' }).click();
      await page.waitForURL((url) => url.pathname === '/');
    });
    // The token has done its work: nobody else becomes an administrator by it.
    assert.equal((await fetch(link)).status, 404);
  }));

test('people sign in and out, by keyboard alone', () =>
  withForge(async (forge) => {
    const ada = await forge.admin();
    await browser.visit(forge, async (page) => {
      await page.goto('/account');
      assert.equal(new URL(page.url()).pathname, '/sign-in');
      await inspect(page, 'sign-in');

      page.expected.push(/status of 422|status of 401/);
      await page.getByLabel('Login or email').fill(ada.login);
      await page.getByLabel('Password').fill('wrong horse battery');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
      await inspect(page, 'sign-in-refused');

      await page.goto('/account');
      await page.evaluate(() => document.activeElement.blur());
      await tabTo(page, page.getByLabel('Login or email'));
      await page.keyboard.type(ada.login);
      await tabTo(page, page.getByLabel('Password'));
      await page.keyboard.type(ada.password);
      await tabTo(page, page.getByRole('button', { name: 'Sign in' }));
      await page.keyboard.press('Enter');
      await page.waitForURL((url) => url.pathname === '/account');

      await page.evaluate(() => document.activeElement.blur());
      await tabTo(page, page.getByRole('link', { name: 'Skip to content' }));
      await page.keyboard.press('Enter');
      assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
      await page.reload();
      await tabTo(page, page.locator('summary', { hasText: 'account menu' }));
      await page.keyboard.press('Enter');
      await tabTo(page, page.getByRole('button', { name: 'Sign out' }));
      await page.keyboard.press('Enter');
      await page.waitForURL((url) => url.pathname === '/sign-in');
      await page.goto('/account');
      assert.equal(new URL(page.url()).pathname, '/sign-in');
    });
  }));

test('people sign in and out without JavaScript', () =>
  withForge(async (forge) => {
    const ada = await forge.admin();
    const without = { javaScriptEnabled: false };
    await browser.visit(forge, async (page) => {
      await signIn(page, ada);
      await page.goto('/account');
      await page.locator('summary', { hasText: 'account menu' }).click();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.waitForURL((url) => url.pathname === '/sign-in');
    }, without);
  }));
