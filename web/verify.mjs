// The site's Python worker in Node.js: the same files as in a browser, without one. A line of JSON is
// a question, and a line its answer (website/verify.py).

import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const site = resolve(process.argv[2]);
const say = console.log;
console.log = console.error; // what Python prints is not an answer

const ready = new Promise((done) => {
  globalThis.self = {
    postMessage: (told) => (told.id === undefined ? done(told) : say(JSON.stringify(told))),
  };
});
const fetched = globalThis.fetch;
globalThis.fetch = async (url) =>
  String(url).startsWith("file:") ? new Response(await readFile(new URL(url))) : fetched(url);

// A script of the site as an address, with those that it imports. Its own address is that of the site,
// wherever Node.js has it from.
async function script(name) {
  const file = join(site, name);
  let text = await readFile(file, "utf-8");
  text = text.replaceAll("import.meta.url", JSON.stringify(pathToFileURL(file).href));
  for (const [found, other] of text.matchAll(/"\.\/([\w-]+\.js)"/g)) {
    text = text.replaceAll(found, JSON.stringify(await script(other)));
  }
  return `data:text/javascript;base64,${Buffer.from(text).toString("base64")}`;
}

await import(await script("python-worker.js"));
say(JSON.stringify(await ready));
for await (const line of createInterface({ input: process.stdin })) await self.onmessage({ data: JSON.parse(line) });
