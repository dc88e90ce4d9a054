// The page: one lab at a time, its handout, program, packet and checks (docs/web.md).

import "./theme.js";
import { Checks } from "./checks.js";
import { withCodes } from "./codes.js";
import { Editor } from "./editor.js";
import { engine } from "./engine.js";
import { zipped } from "./export.js";
import { carried, link } from "./link.js";
import { Living } from "./living.js";
import { loaded } from "./loaded.js";
import { networkOf } from "./network.js";
import { find, make, show } from "./page.js";
import { python } from "./python.js";
import { traceOf } from "./trace.js";
import { keep, kept, Work } from "./work.js";
import { Stopped } from "./worker-client.js";

const BY_LINK = "This program came with a link and is not kept in this browser: save it as a zip to keep it.";
const FULL = "This browser does not keep your work (its storage is full or blocked): save it as a zip.";
const LAST = "p4lab/last"; // where the name of the lab is kept that was open last

const HERE =
  '<p class="page-note">You need none of the handout\'s commands here: edit your files under <a href="#program">Program</a>, ' +
  'then press <a href="#checks">Check</a>. Your work stays in this browser; <em>Save as zip</em> is what you hand in.</p>';

const QUIET = 1200; // milliseconds without a change, before the living network follows it

const editor = new Editor(find("editor"), engine, (path, text) => {
  if (!work.write(path, text)) say(FULL);
  changed();
  follow();
});
const checks = new Checks(find("verdict"), (error) => say(error.message));
const living = new Living(find("living"), (text) => say(text), ended);
let work = null; // the lab that is open, with what the student has made of it
let shown = ""; // the file in the editor

const say = (text) => show("status", ...(text ? [text] : []));
const json = async (path) =>
  JSON.parse(new TextDecoder().decode(await loaded(new URL(path, import.meta.url))));

async function openLab(name, given = {}) {
  say(`Opening ${name}…`);
  work = new Work(await json(`labs/${name}.json`), given.files);
  find("lab").value = name;
  document.title = `${work.lab.title} – p4lab`;
  find("notebook").search = new URLSearchParams({ path: `notebooks/${name}.ipynb` });
  find("handout").innerHTML = HERE + work.lab.handout; // ours, from the site itself
  find("handout").scrollTop = 0;
  showPacket(given.frame ?? work.lab.scene?.frames[0]);
  show("trace");
  checks.clear();
  living.clear();
  changed();
  editor.begin(() => work.files);
  openFile(work.lab.edit[0]);
  document.documentElement.dataset.lab = name; // says that it is open
  if (work.keeps) keep(LAST, name);
  say(given.files ? BY_LINK : "");
}

// What an address names, or carries: a lab, perhaps with a program and a packet. Else the lab that was
// open last.
async function openAddress(labs) {
  let [given, trouble] = [{}, ""];
  try {
    given = carried(location.hash) ?? { lab: /^#lab=(.*)/.exec(location.hash)?.[1] };
  } catch (error) {
    trouble = error.message;
  }
  const known = (lab) => labs.some(({ name }) => name === lab);
  if (given.lab && !known(given.lab)) {
    trouble = `There is no lab ${given.lab} here.`;
    given = {};
  }
  const last = kept(LAST);
  await openLab(given.lab ?? (known(last) ? last : labs[0].name), given);
  if (trouble) say(trouble);
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
  find("packet-old").hidden = true;
  const program = { ...scene.program, files: { ...scene.program.files, ...work.files } };
  const question = { ask: "network", ...scene, program, frames: [frame()] };
  const arrivals = await engine.ask(question);
  if (work.lab.scene !== scene) return; // another lab is open
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

function check() {
  find("verdict-old").hidden = true;
  return checks.check(work);
}

// What is shown of the program as it was before does not pass for what it does now.
function changed() {
  find("packet-old").hidden = !find("trace").hasChildNodes();
  find("verdict-old").hidden = checks.asked === null;
}

async function format() {
  editor.replace(await engine.ask({ ask: "format", text: work.files[shown] }));
}

function again() {
  if (!confirm(`Discard your ${shown} and go back to the one you were given?`)) return;
  work.forget(shown);
  openFile(shown);
}

function save() {
  const url = URL.createObjectURL(new Blob([zipped(work)], { type: "application/zip" }));
  make("a", { href: url, download: `${work.lab.name}.zip` }).click();
  URL.revokeObjectURL(url);
}

async function copyLink() {
  history.replaceState(null, "", link(work, work.lab.scene && frame()));
  const copied = navigator.clipboard?.writeText(location.href).then(() => true, () => false);
  const where = (await copied) ? "copied, and in the address bar" : "in the address bar: copy it there";
  say(`The link to your program and packet is ${where}.`);
}

// Says what `worker` does and for how long, until the function that it gives is called.
function busy(worker) {
  const since = Date.now();
  let told = "";
  const tick = () => {
    if (told && find("status").textContent !== told) return; // there is something more to say
    const what = worker.ready ? "Working…" : worker === python ? "Loading Python, once…" : "Loading…";
    const seconds = ` ${Math.floor((Date.now() - since) / 1000)} s`;
    show("status", what, make("span", { "aria-hidden": "true" }, seconds)); // not read out each second
    told = what + seconds;
  };
  tick();
  const timer = setInterval(tick, 1000);
  return () => {
    clearInterval(timer);
    if (find("status").textContent === told) say("");
  };
}

// Runs what a button does with the help of `worker`; what goes wrong is said in `place`.
const tried = (place, worker, act) => async (event) => {
  event.preventDefault();
  const button = event.submitter ?? event.currentTarget;
  button.disabled = true;
  const done = busy(worker);
  try {
    await act();
  } catch (error) {
    if (error instanceof Stopped) living.clear();
    show(place, make("pre", { class: "trouble", tabindex: 0 }, ...withCodes(error.message)));
  }
  done();
  button.disabled = false;
};

async function begin() {
  const labs = await json("labs.json");
  show("lab", ...labs.map(({ name, title }) => make("option", { value: name }, `${name.split("-")[0]} ${title}`)));
  find("lab").onchange = () => openLab(find("lab").value).catch((error) => say(error.message));
  find("sending").onsubmit = tried("trace", engine, send);
  find("step").onclick = tried("living-trouble", python, step);
  find("check").onclick = tried("verdict", python, check);
  find("format").onclick = tried("trace", engine, format);
  find("again").onclick = again;
  find("export").onclick = save;
  find("link").onclick = () => copyLink();
  window.onhashchange = () => /^#(lab|work)=/.test(location.hash) && openAddress(labs); // a link, pasted
  await openAddress(labs);
}

begin().catch((error) => say(`The page could not be opened: ${error.message}`));
