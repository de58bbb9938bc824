// Repositories for agents to work on, and what is in them.

import { execFileSync } from 'node:child_process';
import { chmod, lstat, mkdir, readFile, readdir, readlink, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

const greet = '#!/bin/sh\nprintf "Hello, %s" "$1"\n';

const files = {
  'AGENTS.md': 'Keep it short.\n',
  'greet.py': 'def greet(name):\n    return "Hello, " + name\n',
  'greet.sh': greet,
  'notes.txt': 'Windows wrote this,\r\nwithout an end',
  'logo.bin': Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
};

export async function makeProject(folder) {
  await mkdir(folder, { recursive: true });
  for (const [name, bytes] of Object.entries(files)) await writeFile(join(folder, name), bytes);
  await chmod(join(folder, 'greet.sh'), 0o755);
  const git = (...args) => execFileSync('git', args, { cwd: folder, stdio: 'pipe' });
  git('init', '--quiet', '--initial-branch=main');
  git('add', '.');
  git('-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', 'commit', '--quiet', '-m', 'Greet');
}

// Every file of a folder but git's: its mode and its bytes.
export async function contents(folder) {
  const found = {};
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    const name = relative(folder, path);
    if (name === '.git' || name.startsWith('.git/') || entry.isDirectory()) continue;
    const { mode } = await lstat(path);
    const bytes = entry.isSymbolicLink() ? await readlink(path) : await readFile(path, 'base64');
    found[name] = `${mode.toString(8)} ${bytes}`;
  }
  return found;
}
