// The engine (crates/p4-wasm) in a worker: questions and answers in JSON.

import { loaded } from "./loaded.js";

const MEMORY = "It takes more memory than a page has; look for huge types, tables and header stacks.";

// Not streamed: that would need a file server that knows the type of .wasm files.
const engine = loaded(new URL("p4.wasm", import.meta.url))
  .then((bytes) => WebAssembly.instantiate(bytes))
  .then(({ instance }) => instance.exports);

function answer(exports, question) {
  const bytes = new TextEncoder().encode(JSON.stringify(question));
  const input = exports.input(bytes.length);
  new Uint8Array(exports.memory.buffer, input, bytes.length).set(bytes);
  const length = exports.answer();
  const output = new Uint8Array(exports.memory.buffer, exports.output(), length);
  return JSON.parse(new TextDecoder().decode(output));
}

self.onmessage = async ({ data: { id, question } }) => {
  try {
    self.postMessage({ id, ...answer(await engine, question) });
  } catch (error) {
    // A trap leaves the engine's memory as it was in the middle of something.
    self.postMessage({ id, fatal: error instanceof WebAssembly.RuntimeError ? MEMORY : error.message });
  }
};

engine.then(
  () => self.postMessage({ ready: true }),
  (error) => self.postMessage({ fatal: error.message }),
);
