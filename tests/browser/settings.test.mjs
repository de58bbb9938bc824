// Settings of the whole server: where each value comes from, set and reset on the page.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Browser, inspect } from './support/browser.mjs';
import { Forge } from './support/forge.mjs';
import { signIn } from './support/steps.mjs';

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

test('hosts are allowed, a wrong one is told, and all is reset', () =>
  browser.visit(forge, async (page) => {
    page.expected.push(/422/);
    await signIn(page, ada);
    await page.goto('/account');
    await page.getByRole('link', { name: 'Settings', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
    assert.equal(await page.getByText('From the configuration', { exact: true }).count(), 2);
    await inspect(page, 'settings');

    const hosts = page.getByRole('textbox', { name: /^Hosts in the server's own network/ });
    await hosts.fill('llm.internal\nhttp://10.0.0.7');
    await page.getByRole('checkbox', { name: 'Members may have providers' }).uncheck();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('http://10.0.0.7 is no host', { exact: false }).waitFor();
    await inspect(page, 'settings-wrong');

    await hosts.fill('llm.internal\n10.0.0.7');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Set here', { exact: true }).first().waitFor();
    assert.equal(await hosts.inputValue(), 'llm.internal\n10.0.0.7');
    await inspect(page, 'settings-set');
    await page.goto('/account/providers');
    await page.getByText('Switched off on this server').waitFor();

    await page.goto('/admin/settings');
    for (const name of [/configuration: providers/, /configuration: hosts/]) {
      await page.getByRole('button', { name }).click();
      await page.getByRole('button', { name }).waitFor({ state: 'detached' });
    }
    assert.equal(await page.getByText('Set here', { exact: true }).count(), 0);
    assert.equal(await hosts.inputValue(), '');
  }));
