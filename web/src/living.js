// The living network of notebooks in the page: its views draw what Python in the page has run, and
// what is clicked goes there (website/views.py).

import live from "../../src/p4lab/widgets/js/live.js";
import { python } from "./python.js";

export class Living {
  #models = {}; // states of views by number
  #leave = () => {};
  #root = null;
  #cleared = 0; // how often

  // `said` is called with sentences, `failed` with what goes wrong after a click.
  constructor(place, said, failed) {
    this.place = place;
    this.said = said;
    this.failed = failed;
  }

  get shown() {
    return this.#root !== null;
  }

  // Shows what a student's work does now, or shows it again. `editing` is the file in front.
  async show(work, editing) {
    const files = { ...work.files, ...work.memory };
    const { name } = work.lab;
    const cleared = this.#cleared;
    const found = await python.ask({ ask: "live", lab: name, files, editing, anew: !this.shown });
    if (this.#cleared !== cleared) return; // another lab is open
    const fresh = this.#root !== found.view;
    if (fresh) this.clear();
    this.#hear(found);
    if (!fresh) return;
    this.#root = found.view;
    this.#leave = live.render({ model: this.#model(found.view), el: this.place });
  }

  clear() {
    this.#cleared += 1;
    this.#leave();
    this.#leave = () => {};
    this.#root = null;
    this.#models = {};
    this.place.replaceChildren();
  }

  // A view's model as a notebook has it.
  #model(number) {
    const one = (this.#models[number] ??= { state: {}, listeners: {} });
    let set = {};
    const each = (names, act) => names.split(" ").forEach(act);
    const tell = (message = null) => {
      const values = set;
      set = {};
      python.ask({ ask: "view", number, values, message }).then((found) => this.#hear(found), this.failed);
    };
    return (one.model ??= {
      get: (name) => one.state[name],
      set: (name, value) => {
        if (JSON.stringify(one.state[name]) === JSON.stringify(value)) return;
        set[name] = one.state[name] = value;
      },
      save_changes: () => Object.keys(set).length && tell(),
      send: (content) => tell(content),
      on: (names, call) => each(names, (name) => (one.listeners[name] ??= []).push(call)),
      off: (names, call) =>
        each(names, (name) => (one.listeners[name] = one.listeners[name]?.filter((other) => other !== call))),
      widget_manager: { get_model: async (other) => this.#model(other) },
    });
  }

  // Brings what has changed to the views: all of it first, since they look at each other's.
  #hear({ models, messages, said }) {
    const changes = [];
    for (const [number, fresh] of Object.entries(models)) {
      this.#model(number);
      Object.assign(this.#models[number].state, fresh);
      for (const name of Object.keys(fresh)) changes.push([number, `change:${name}`]);
    }
    for (const [number, name] of changes) this.#call(number, name);
    for (const [number, content] of messages) this.#call(number, "msg:custom", content);
    if (said.length) this.said(said.join(" "));
  }

  #call(number, name, ...given) {
    for (const call of this.#models[number]?.listeners[name] ?? []) call(...given);
  }
}
