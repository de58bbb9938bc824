// A running Forge with nothing in it, its command line and its API.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Program, built, until } from './program.mjs';

export const password = 'correct horse battery';

export class Forge {
  // `env` goes over the environment that it is started with, which has nothing else of ours.
  static async start({ env = {} } = {}) {
    const forge = new Forge();
    forge.folder = await realpath(await mkdtemp(join(tmpdir(), 'forge-browser-')));
    forge.roots = join(forge.folder, 'code');
    await mkdir(forge.roots);
    forge.env = {
      PATH: process.env.PATH,
      HOME: forge.folder,
      LANG: 'C.UTF-8',
      FORGE_SERVER__BIND: '127.0.0.1:0',
      FORGE_DATA__DIR: join(forge.folder, 'data'),
      FORGE_PROJECTS__WORKSPACES: join(forge.folder, 'workspaces'),
      FORGE_PROJECTS__ROOTS: JSON.stringify([forge.roots]),
      ...env,
    };
    await forge.serve();
    return forge;
  }

  async serve() {
    this.program = new Program(this.#file, ['serve'], { cwd: this.folder, env: this.env });
    [, this.base] = await this.program.line(/^listening on (http:\/\/\S+)$/);
    await until('Forge is ready', async () => (await fetch(`${this.base}/health/ready`)).ok);
  }

  get #file() {
    return built('FORGE_BIN', 'forge');
  }

  // What a command of the program prints.
  async run(args, input = '') {
    const program = new Program(this.#file, args, { cwd: this.folder, env: this.env });
    program.child.stdin.end(input);
    assert.equal(await program.ended, 0, program.errors.join('\n'));
    return program.out.join('\n');
  }

  async admin(login = 'ada', name = 'Ada') {
    const email = `${login}@example.org`;
    const person = ['--login', login, '--name', name, '--email', email];
    await this.run(['admin', 'create', ...person, '--password-stdin'], `${password}\n`);
    this.token = await this.run(['token', 'create', '--login', login, '--name', 'tests', '--scope', 'admin']);
    return { login, password };
  }

  // Asks the API, as the admin that was made last.
  async api(method, path, body) {
    const headers = { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' };
    const init = { method, headers, body: body === undefined ? undefined : JSON.stringify(body) };
    const answer = await fetch(`${this.base}/api/v1${path}`, init);
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  }

  // Ends the server, properly or at once, and keeps its folder.
  async stop() {
    assert.equal(await this.program.stop(), 0, this.program.errors.join('\n'));
  }

  async remove() {
    try {
      await this.stop();
    } finally {
      await rm(this.folder, { recursive: true, force: true });
    }
  }
}
