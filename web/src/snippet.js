// A block of P4 that is edited and run where it stands: compiled as one file, or, if it is quoted from
// a lab's program, as a part of that; and a packet through it, where there is something to run it on.

import { basicSetup, EditorView } from "codemirror";
import { linter } from "@codemirror/lint";
import { withCodes } from "./codes.js";
import { engine } from "./engine.js";
import { p4 } from "./mode.js";
import { make } from "./page.js";
import { loneSwitch } from "./lone-switch.js";
import { traceOf } from "./trace.js";

const labs = new Map(); // by name, as they are asked for

function labOf(name) {
  if (!labs.has(name)) {
    const file = new URL(`labs/${name}.json`, import.meta.url);
    labs.set(name, fetch(file).then((found) => found.json()));
  }
  return labs.get(name);
}

export class Snippet {
  // `place` is an element of class `live`; website/snippets.py writes what it is to say.
  constructor(place) {
    this.told = place.dataset;
    this.given = place.querySelector("code").textContent;
    this.view = new EditorView({
      doc: this.given.replace(/\n$/, ""),
      extensions: [
        basicSetup,
        p4,
        EditorView.contentAttributes.of({ "aria-label": "P4 program" }),
        linter(() => this.#marks(), { delay: 400 }),
      ],
    });
    this.view.scrollDOM.tabIndex = 0; // to scroll by keys
    this.output = make("div", { "aria-live": "polite" });
    this.sending = make("div", {});
    const actions = make(
      "div",
      { class: "actions" },
      make("button", { onclick: () => this.compile() }, "Compile"),
      make("button", { onclick: () => this.#reset() }, "Reset"),
    );
    place.querySelector("pre").replaceWith(this.view.dom);
    place.append(actions, this.sending, this.output);
    this.#offer();
  }

  get text() {
    return this.view.state.doc.toString();
  }

  // The program that the block is, or is in.
  async program() {
    const { program, lab, file, first, indent = "", lint, p4info } = this.told;
    const asked = { lints: lint ? [lint] : [], p4info: p4info !== undefined };
    if (!lab) return { main: program, files: { [program]: `${this.text}\n` }, ...asked };
    const { files, scene } = await labOf(lab);
    const lines = files[file].split("\n");
    const own = this.text.split("\n").map((line) => line && indent + line);
    lines.splice(Number(first) - 1, this.given.trimEnd().split("\n").length, ...own);
    const all = { ...scene.program.files, ...files, [file]: lines.join("\n") };
    return { ...scene.program, files: all, ...asked };
  }

  // Compiles it and shows what the compiler says.
  async compile() {
    await this.#shown(async () => {
      const { ok, text } = await engine.ask({ ask: "compile", ...(await this.program()) });
      const well = ok ? [make("p", { class: "well" }, text ? "It compiles, with warnings." : "It compiles.")] : [];
      return [...well, ...(text ? [make("pre", { class: "told", tabindex: 0 }, ...withCodes(text))] : [])];
    });
  }

  async #marks() {
    const { lab, file, program, first = 1, indent = "" } = this.told;
    let found;
    try {
      found = await engine.ask({ ask: "compile", ...(await this.program()) });
    } catch {
      return []; // it is said where the program is compiled
    }
    const { doc } = this.view.state;
    const at = (line, column) => {
      const here = line - first + 1;
      if (here < 1 || here > doc.lines) return null;
      const { from, to } = doc.line(here);
      return Math.min(to, from + Math.max(0, column - 1 - (lab ? indent.length : 0)));
    };
    return found.diagnostics.flatMap((one) => {
      if (one.file !== (lab ? file : program)) return [];
      const [from, to] = [at(one.line, one.column), at(one.end_line ?? one.line, one.end_column ?? one.column)];
      const severity = one.severity === "note" ? "info" : one.severity;
      return from === null ? [] : [{ from, to: Math.max(from, to ?? from), severity, message: `${one.code}: ${one.message}` }];
    });
  }

  // What sends a packet: a lab's own scene, or one switch alone for a whole program.
  async #offer() {
    const { lab } = this.told;
    const scene = lab ? (await labOf(lab)).scene : /\bmain\s*;/.test(this.given) && loneSwitch;
    if (!scene) return;
    const [frame] = scene.frames;
    const host = make("select", { name: "host" }, ...scene.hosts.map(({ name }) => make("option", {}, name)));
    host.value = frame.host;
    const bytes = make("input", { name: "bytes", value: frame.data, spellcheck: "false", autocomplete: "off" });
    const send = (event) => {
      event.preventDefault();
      const data = bytes.value.replace(/[\s:]/g, "");
      this.#send({ ...scene, frames: [{ ...frame, host: host.value, data }] });
    };
    const label = (text, input) => make("label", {}, text, " ", input);
    const form = make("form", { onsubmit: send }, label("From", host), label("Bytes", bytes), make("button", {}, "Send"));
    this.sending.replaceChildren(form);
  }

  async #send(scene) {
    await this.#shown(async () => {
      const program = await this.program();
      return traceOf(await engine.ask({ ask: "network", ...scene, program }), (file, line) => this.#point(file, line));
    });
  }

  // Shows a line of a trace, if it is one of these.
  #point(file, line) {
    const { lab, file: own, program, first = 1 } = this.told;
    const here = line - first + 1;
    if (file !== (lab ? own : program) || here < 1 || here > this.view.state.doc.lines) return;
    this.view.dispatch({ selection: { anchor: this.view.state.doc.line(here).from }, scrollIntoView: true });
    this.view.focus();
  }

  #reset() {
    const { state } = this.view;
    this.view.dispatch({ changes: { from: 0, to: state.doc.length, insert: this.given.replace(/\n$/, "") } });
    this.output.replaceChildren();
  }

  async #shown(act) {
    this.output.replaceChildren(make("p", {}, "Working…"));
    try {
      this.output.replaceChildren(...(await act()));
    } catch (error) {
      this.output.replaceChildren(make("pre", { class: "told trouble", tabindex: 0 }, ...withCodes(error.message)));
    }
  }
}
