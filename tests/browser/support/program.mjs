// Programs that a test starts: where they lie, what they print, and their end.

import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../..', import.meta.url));

// How long anything is waited for.
export const limit = 15_000;

let target;

// A program that `cargo build --bins --examples` has built, unless a variable names another.
export function built(variable, path) {
  if (process.env[variable]) return process.env[variable];
  target ??= JSON.parse(
    execFileSync('cargo', ['metadata', '--format-version=1', '--no-deps', '--offline'], { cwd: root }),
  ).target_directory;
  const file = join(target, 'debug', path);
  if (!existsSync(file)) throw new Error(`${file} is missing: cargo build --bins --examples`);
  return file;
}

// Waits until something holds, and says what it was if it never does.
export async function until(what, holds, { every = 25 } = {}) {
  const end = Date.now() + limit;
  for (;;) {
    const value = await holds();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited in vain until ${what}`);
    await new Promise((done) => setTimeout(done, every));
  }
}

export class Program {
  #waiting = new Set();
  out = [];
  errors = [];

  constructor(file, args, options = {}) {
    this.child = spawn(file, args, { stdio: ['pipe', 'pipe', 'pipe'], ...options });
    this.ended = new Promise((done, fail) => {
      this.child.on('error', fail);
      this.child.on('close', (code, signal) => done(code ?? signal));
    });
    this.ended.catch(() => {}).then(() => this.#look());
    createInterface({ input: this.child.stdout }).on('line', (line) => this.#hear(this.out, line));
    createInterface({ input: this.child.stderr }).on('line', (line) => this.#hear(this.errors, line));
  }

  // The first line, of either kind, that matches.
  line(pattern) {
    return new Promise((done, fail) => {
      const complain = (why) => {
        const said = [...this.out, ...this.errors].slice(-40).join('\n');
        stop();
        fail(new Error(`${this.child.spawnfile} ${why} ${pattern}:\n${said}`));
      };
      const timer = setTimeout(() => complain('never printed'), limit);
      const stop = () => {
        clearTimeout(timer);
        this.#waiting.delete(look);
      };
      const look = () => {
        for (const line of [...this.out, ...this.errors]) {
          const match = line.match(pattern);
          if (match) return stop(), done(match);
        }
        if (this.child.exitCode !== null || this.child.signalCode !== null) {
          complain('ended without');
        }
      };
      this.#waiting.add(look);
      look();
    });
  }

  async stop() {
    this.child.kill('SIGTERM');
    const timer = setTimeout(() => this.child.kill('SIGKILL'), limit);
    const code = await this.ended;
    clearTimeout(timer);
    return code;
  }

  #hear(lines, line) {
    lines.push(line);
    this.#look();
  }

  #look() {
    for (const look of [...this.#waiting]) look();
  }
}
