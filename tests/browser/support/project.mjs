// Repositories for agents to work on, and what is in them.

import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export async function makeProject(folder) {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'AGENTS.md'), 'Keep it short.\n');
  await writeFile(join(folder, 'greet.py'), 'def greet(name):\n    return "Hello, " + name\n');
  const git = (...args) => execFileSync('git', args, { cwd: folder, stdio: 'pipe' });
  git('init', '--quiet', '--initial-branch=main');
  git('add', '.');
  git('-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', 'commit', '--quiet', '-m', 'Greet');
}
