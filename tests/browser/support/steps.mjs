// What a person does on the pages, as far as more than one test does it.

import { join } from 'node:path';

import { makeProject } from './project.mjs';

export async function signIn(page, { login, password }) {
  await page.goto('/sign-in');
  await page.getByLabel('Login or email').fill(login);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL((url) => url.pathname !== '/sign-in');
}

// Adds the scripted model as a provider, with all its models.
export async function addProvider(page, model) {
  await page.goto('/providers/new');
  await page.getByLabel('Name').fill('Scripted');
  await page.getByLabel('Address').fill(model.url);
  await page.getByLabel('Key', { exact: true }).fill(model.key);
  await page.getByRole('button', { name: 'Add provider' }).click();
  await chooseModels(page, model);
}

export async function chooseModels(page, model) {
  const read = page.getByRole('button', { name: 'Read models', exact: true });
  const first = page.getByLabel(`Use ${model.models[0]}`);
  await read.or(first).waitFor();
  if (await read.isVisible()) await read.click();
  for (const name of model.models) await page.getByLabel(`Use ${name}`).check();
  await page.getByRole('button', { name: 'Save models' }).click();
  await page.getByText(`${model.models.length} in use`).waitFor();
}

// Makes a repository on the server, adds it as a project, and answers with its folder.
export async function addProject(page, forge, name) {
  const folder = join(forge.roots, name);
  await makeProject(folder);
  await page.goto('/projects/new');
  await page.getByText('A folder on the server').click();
  await page.getByLabel('Folder', { exact: true }).fill(folder);
  await page.getByRole('button', { name: 'Add project' }).click();
  await page.getByRole('heading', { level: 1, name }).waitFor();
  return folder;
}

export async function trustProject(page) {
  await page.getByRole('button', { name: 'Trust project' }).click();
  await page.getByText('Trusted by you').waitFor();
}

// Begins a session in the project whose page is open.
export async function startSession(page, model, text) {
  await page.getByRole('link', { name: 'New session' }).first().click();
  await page.getByRole('heading', { level: 1, name: 'New session' }).waitFor();
  await page.getByLabel('Model', { exact: true }).selectOption({ label: model.models[0] });
  await page.getByLabel('Prompt').fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
  await page.waitForURL(/\/sessions\/[0-9A-Z]{26}$/);
}

// Waits until the session is in this state: idle, running, waiting.
export const state = (page, name) =>
  page.locator(`#session-status [data-status="${name}"]`).waitFor();
