// Takes the picture of the session page that the README shows: npm run picture

import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Browser } from './support/browser.mjs';
import { Forge } from './support/forge.mjs';
import { ScriptedModel, call, gate, say, think, usage } from './support/model.mjs';
import * as steps from './support/steps.mjs';

const orders = `"""Orders of the shop."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    article: str
    pieces: int
    cents: int


def total(lines):
    return sum(line.pieces * line.cents for line in lines)
`;
const tests = `import unittest

from shop.orders import Line, total


class Orders(unittest.TestCase):
    def test_a_line_without_pieces_is_refused(self):
        with self.assertRaises(ValueError):
            total([Line("tea", 0, 350)])
`;
const check = `    if any(line.pieces < 1 for line in lines):
        raise ValueError("a line needs at least one piece")
    return sum(`;

const [browser, forge, model] = await Promise.all([
  Browser.start(),
  Forge.start(),
  ScriptedModel.start(),
]);
try {
  const ada = await forge.admin();
  await browser.visit(forge, async (page) => {
    await steps.signIn(page, ada);
    await steps.addProvider(page, model);
    const folder = await steps.addProject(page, forge, 'shop');
    for (const [path, text] of Object.entries({ 'shop/orders.py': orders, 'shop/__init__.py': '' })) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    await steps.trustProject(page);

    const run = call('bash', { command: 'python3 -B -m unittest -q', description: 'Run the tests' });
    const answers = [
      [think('Where are orders added up?'), say('I look at how orders are added up first.'), call('read', { path: 'shop/orders.py' }), call('grep', { pattern: 'total\\(' })],
      [say('A test first, which has to fail.'), call('write', { path: 'test_orders.py', content: tests })],
      [run],
      [call('edit', { path: 'shop/orders.py', old_string: '    return sum(', new_string: check })],
      [run],
    ];
    for (const [step, acts] of answers.entries()) {
      await model.push(...acts, usage(2400 + 640 * step, step === 0 ? 0 : 1800 + 640 * step, 90));
    }
    await model.push(say('An order with a line of no pieces is refused now: `total` raises a **ValueError** that says why. The new test failed before '), gate('end'), say('the change and passes with it.'));

    await steps.startSession(page, model, 'Orders of zero pieces must be refused. Write the test first.');
    for (let asked = 0; asked < 2; asked += 1) {
      await page.getByRole('button', { name: 'Allow once' }).click();
      await page.locator('#session-status [data-status="running"]').waitFor();
    }
    await model.reached('end');
    await page.locator('.prose strong', { hasText: 'ValueError' }).waitFor();
    await page.screenshot({ path: fileURLToPath(new URL('picture.png', import.meta.url)) });
    await model.open('end');
    await steps.state(page, 'idle');
  }, { viewport: { width: 1440, height: 1040 } });
} finally {
  await browser.stop();
  await forge.remove();
  await model.stop();
}
