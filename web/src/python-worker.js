// Python (Pyodide) in a worker: the same checks as on the command line, on the same engine.

import { loaded, LOST } from "./loaded.js";

const here = (path) => new URL(`python/${path}`, import.meta.url);
const bytes = (path) => loaded(here(path));

const OUT_OF_MEMORY =
  "Judging it takes more memory than a page has; look for huge types, tables and header stacks, and " +
  "for packets that go around and make more of themselves.";

// Python itself, from where its script is.
async function pyodide() {
  try {
    const { loadPyodide } = await import(here("pyodide.mjs"));
    return await loadPyodide();
  } catch (error) {
    console.error(error);
    throw new Error(LOST);
  }
}

async function begin() {
  const names = JSON.parse(new TextDecoder().decode(await bytes("wheels.json")));
  const [python, wheels] = await Promise.all([pyodide(), Promise.all(names.map(bytes))]);
  for (const wheel of wheels) python.unpackArchive(wheel, "wheel");
  return { python, desk: python.runPython("from p4lab.website.page import Desk; Desk()") };
}

function asked(desk, inPython, { ask, lab, files, editing, anew, number, values, message, check }) {
  if (ask === "check") return desk.check(lab, inPython(files));
  if (ask === "live") return desk.live(lab, inPython(files), editing, anew);
  if (ask === "view") return desk.view(number, inPython(values), inPython(message ?? {}));
  return desk.answer(ask, check);
}

const ready = begin();

self.onmessage = async ({ data: { id, question } }) => {
  try {
    const { python, desk } = await ready;
    const answer = asked(desk, (value) => python.toPy(value), question);
    self.postMessage({ id, answer: JSON.parse(answer) });
  } catch (error) {
    // Python's own errors leave it as it was; anything else may not.
    if (error.name === "PythonError") self.postMessage({ id, error: error.message.trim().split("\n").at(-1) });
    else self.postMessage({ id, fatal: error instanceof WebAssembly.RuntimeError ? OUT_OF_MEMORY : error.message });
  }
};

ready.then(
  () => self.postMessage({ ready: true }),
  (error) => self.postMessage({ fatal: error.message }),
);
