// The site's Python worker in Node.js: the same files as in a browser, without one. A line of JSON is
// a question, and a line its answer (website/verify.py).

import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const worker = join(resolve(process.argv[2]), "python-worker.js");
const place = pathToFileURL(worker);
const say = console.log;
console.log = console.error; // what Python prints is no answer

const ready = new Promise((done) => {
  globalThis.self = {
    postMessage: (told) => (told.id === undefined ? done(told) : say(JSON.stringify(told))),
  };
});
const fetched = globalThis.fetch;
globalThis.fetch = async (url) =>
  String(url).startsWith("file:") ? new Response(await readFile(new URL(url))) : fetched(url);

// Its own address is that of the site, wherever Node.js has it from.
const script = (await readFile(worker, "utf-8")).replaceAll("import.meta.url", JSON.stringify(place.href));
await import(`data:text/javascript;base64,${Buffer.from(script).toString("base64")}`);
say(JSON.stringify(await ready));
for await (const line of createInterface({ input: process.stdin })) await self.onmessage({ data: JSON.parse(line) });
