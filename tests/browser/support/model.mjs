// A provider of models that answers from a script: see scripted_model.rs.

import assert from 'node:assert/strict';

import { Program, built } from './program.mjs';

export class ScriptedModel {
  #ids = 0;

  static async start() {
    const model = new ScriptedModel();
    const file = built('FORGE_SCRIPTED_MODEL', 'examples/scripted-model');
    model.program = new Program(file, [], { env: { RUST_BACKTRACE: '0' } });
    const [line] = await model.program.line(/^\{.*"url".*\}$/);
    Object.assign(model, JSON.parse(line));
    return model;
  }

  // The next answer, as a list of acts such as `say('Hello')` and `call('read', { path })`.
  push(...acts) {
    return this.#command({ push: acts });
  }

  fallback(...acts) {
    return this.#command({ fallback: acts });
  }

  open(gate) {
    return this.#command({ open: gate });
  }

  // Ready when an answer has come to the gate.
  async reached(gate) {
    const { reached } = await this.#command({ reached: gate });
    assert.ok(reached, `no answer has come to the gate ${gate}`);
  }

  async requests() {
    return (await this.#command('requests')).requests;
  }

  // Fails if a request was not what a provider takes.
  async stop() {
    this.program.child.stdin.end();
    assert.equal(await this.program.ended, 0, this.program.errors.join('\n'));
  }

  async #command(command) {
    const id = ++this.#ids;
    this.program.child.stdin.write(`${JSON.stringify({ id, command })}\n`);
    const [line] = await this.program.line(new RegExp(`^\\{"id":${id}[,}].*`));
    return JSON.parse(line);
  }
}

export const say = (text) => ({ say: text });
export const think = (text) => ({ think: text });
export const call = (tool, input) => ({ call: { tool, input } });
export const gate = (name) => ({ gate: name });
export const usage = (prompt, cached, output) => ({ usage: { prompt, cached, output } });
export const pace = (ms) => ({ pace_ms: ms });
