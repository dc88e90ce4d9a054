// The page: one lab at a time, its handout, program, packet and checks (docs/web.md).

import "./theme.js";
import { Checks } from "./checks.js";
import { withCodes } from "./codes.js";
import { Editor } from "./editor.js";
import { engine } from "./engine.js";
import { zipped } from "./export.js";
import { carried, link } from "./link.js";
import { Living } from "./living.js";
import { networkOf } from "./network.js";
import { find, make, show } from "./page.js";
import { python } from "./python.js";
import { traceOf } from "./trace.js";
import { Work } from "./work.js";
import { Stopped } from "./worker-client.js";

const BY_LINK = "This program came by a link and is not kept here: save it as a zip.";

const QUIET = 1200; // milliseconds without a change, before the living network follows it

const editor = new Editor(find("editor"), engine, (path, text) => {
  work.write(path, text);
  follow();
});
const checks = new Checks(find("verdict"), (error) => say(error.message));
const living = new Living(find("living"), (text) => say(text), ended);
let work = null; // the lab that is open, with what the student has made of it
let shown = ""; // the file in the editor

const say = (text) => show("status", text);
const json = async (path) => (await fetch(new URL(path, import.meta.url))).json();

async function openLab(name, given = {}) {
  say(`Opening ${name}…`);
  work = new Work(await json(`labs/${name}.json`), given.files);
  find("lab").value = name;
  document.title = `${work.lab.title} – p4lab`;
  find("notebook").search = new URLSearchParams({ path: `notebooks/${name}.ipynb` });
  find("handout").innerHTML = work.lab.handout; // ours, from the site itself
  find("handout").scrollTop = 0;
  showPacket(given.frame ?? work.lab.scene?.frames[0]);
  show("trace");
  checks.clear();
  living.clear();
  editor.begin(() => work.files);
  openFile(work.lab.edit[0]);
  document.documentElement.dataset.lab = name; // says that it is open
  say(given.files ? BY_LINK : "");
}

function openFile(path) {
  shown = path;
  follow();
  editor.open(path, work.files[path], work.lab.edit.includes(path));
  const button = (name) =>
    make("button", { "aria-pressed": String(name === path), onclick: () => openFile(name) }, name);
  show("files", ...Object.keys(work.files).map(button));
}

function showPacket(frame) {
  find("sending").hidden = find("stepping").hidden = !frame;
  if (!frame) return show("network", "This lab sends no packet by itself: its checks do.");
  show("network", networkOf(work.lab.scene));
  show("host", ...work.lab.scene.hosts.map(({ name }) => make("option", {}, name)));
  find("host").value = frame.host;
  find("bytes").value = frame.data;
}

// The packet as it stands in the form.
const frame = () => ({
  ...work.lab.scene.frames[0],
  host: find("host").value,
  data: find("bytes").value.replace(/[\s:]/g, ""),
});

async function send() {
  const { scene } = work.lab;
  const program = { ...scene.program, files: { ...scene.program.files, ...work.files } };
  const question = { ask: "network", ...scene, program, frames: [frame()] };
  const arrivals = await engine.ask(question);
  show("network", networkOf(scene, arrivals));
  show("trace", ...traceOf(arrivals, point));
}

// The network, played and step by step, in the views of notebooks.
const step = () => living.show(work, shown);

// Brings a change to the living network once nothing else is under way.
let waiting = null;
function follow() {
  clearTimeout(waiting);
  if (living.shown) waiting = setTimeout(() => (python.idle ? step().catch(ended) : follow()), QUIET);
}

// After a worker was ended, its network is gone.
function ended(error) {
  if (error instanceof Stopped) living.clear();
  say(error.message);
}

// Shows a line of the program.
function point(file, line) {
  if (file in work.files && file !== shown) openFile(file);
  if (file === shown) editor.point(line);
}

async function format() {
  editor.replace(await engine.ask({ ask: "format", text: work.files[shown] }));
}

function again() {
  if (!confirm(`Throw away your ${shown} and begin with the starter's?`)) return;
  work.forget(shown);
  openFile(shown);
}

function save() {
  const url = URL.createObjectURL(new Blob([zipped(work)], { type: "application/zip" }));
  make("a", { href: url, download: `${work.lab.name}.zip` }).click();
  URL.revokeObjectURL(url);
}

async function copyLink() {
  location.hash = link(work, work.lab.scene && frame());
  await navigator.clipboard?.writeText(location.href).catch(() => {});
  say("The link is in the address bar, with your program and packet.");
}

// Runs what a button does; what goes wrong is said in `place`.
const tried = (place, act) => async (event) => {
  event?.preventDefault();
  say("Working…");
  try {
    await act();
    if (find("status").textContent === "Working…") say("");
  } catch (error) {
    if (error instanceof Stopped) living.clear();
    say("");
    show(place, make("pre", { class: "trouble", tabindex: 0 }, ...withCodes(error.message)));
  }
};

async function begin() {
  const labs = await json("labs.json");
  show("lab", ...labs.map(({ name, title }) => make("option", { value: name }, title)));
  find("lab").onchange = () => openLab(find("lab").value);
  find("sending").onsubmit = tried("trace", send);
  find("step").onclick = tried("living-trouble", step);
  find("check").onclick = tried("verdict", () => checks.check(work));
  find("format").onclick = tried("trace", format);
  find("again").onclick = again;
  find("export").onclick = save;
  find("link").onclick = () => copyLink();
  const given = carried(location.hash);
  const named = labs.find(({ name }) => location.hash === `#lab=${name}`);
  await openLab((given?.lab ?? named?.name) ?? labs[0].name, given ?? undefined);
}

begin().catch((error) => say(`The page could not be opened: ${error.message}`));
