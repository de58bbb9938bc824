// Chromium, and what every page is held to: no error in it, no breach of its policy, no finding of
// axe, and nothing wider than the screen.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { chromium } from 'playwright-core';

import { limit, root } from './program.mjs';

const shots = join(root, 'tests/browser/shots');
mkdirSync(shots, { recursive: true });

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

export const desktop = { width: 1440, height: 900 };
export const phone = { width: 390, height: 844 };

export class Browser {
  static async start() {
    const browser = new Browser();
    browser.chromium = await chromium.launch({
      executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
      args: [
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    });
    return browser;
  }

  // A page of a browser that knows nobody. What went wrong in it fails the test, unless
  // `page.expected` was given a pattern for it.
  async visit(forge, use, options = {}) {
    const context = await this.chromium.newContext({
      baseURL: forge.base,
      viewport: desktop,
      reducedMotion: 'reduce',
      locale: 'en-GB',
      timezoneId: 'UTC',
      ...options,
    });
    context.setDefaultTimeout(limit);
    const page = await context.newPage();
    const problems = watch(page);
    try {
      const value = await use(page);
      const found = problems.filter((it) => !page.expected.some((pattern) => pattern.test(it)));
      assert.deepEqual(found, [], `problems on ${page.url()}`);
      return value;
    } catch (error) {
      // What was to be seen when it failed.
      await page.screenshot({ path: join(shots, `failed-${Date.now()}.png`) }).catch(() => {});
      throw error;
    } finally {
      await context.close();
    }
  }

  stop() {
    return this.chromium.close();
  }
}

function watch(page) {
  const problems = [];
  page.expected = [];
  page.on('console', (message) => {
    const { url, lineNumber } = message.location();
    const place = `on ${page.url()} by ${url}:${lineNumber}`;
    if (message.type() === 'error') problems.push(`console: ${message.text()} ${place}`);
  });
  page.on('pageerror', (error) => problems.push(`error: ${error.stack ?? error}`));
  page.on('requestfailed', (request) => {
    const why = request.failure()?.errorText;
    // Whoever leaves a page ends its stream.
    if (why !== 'net::ERR_ABORTED') problems.push(`request: ${request.url()} ${why}`);
  });
  page.on('request', (request) => {
    const { origin } = new URL(request.url());
    const home = page.url() === 'about:blank' ? origin : new URL(page.url()).origin;
    if (origin !== home) problems.push(`a request to elsewhere: ${request.url()}`);
  });
  return problems;
}

// Takes pictures of the page and holds it to the rules, in both themes and both widths.
export async function inspect(page, name) {
  for (const [size, viewport] of Object.entries({ desktop, phone })) {
    for (const colorScheme of ['light', 'dark']) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const place = `${name}-${size}-${colorScheme}`;
      // The caret as it is: to hide it, the driver would write styles that the page's policy forbids.
      await page.screenshot({ path: join(shots, `${place}.png`), caret: 'initial' });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${place} is ${wide} px wider than the screen`);
      assert.deepEqual(await findings(page), [], place);
    }
  }
  await page.setViewportSize(desktop);
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
}

async function findings(page) {
  // Evaluated by the browser's own protocol: the page's policy would not let it in otherwise.
  await page.evaluate(axe);
  const options = { runOnly: tags, resultTypes: ['violations'], preload: false };
  const { violations } = await page.evaluate((it) => globalThis.axe.run(document, it), options);
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${help}: ${target.join(' ')}: ${failureSummary}`),
  );
}

// Presses Tab until this element has the focus, which must show.
export async function tabTo(page, target, { most = 60 } = {}) {
  for (let n = 0; n < most; n += 1) {
    await page.keyboard.press('Tab');
    if (!(await target.evaluate((it) => it === document.activeElement))) continue;
    const shown = await target.evaluate((it) => {
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(it);
      return (outlineStyle !== 'none' && parseFloat(outlineWidth) > 0) || boxShadow !== 'none';
    });
    assert.ok(shown, `the focus on ${target} cannot be seen`);
    return;
  }
  assert.fail(`${target} cannot be reached by ${most} presses of Tab`);
}
