// The checks of a lab: Python's verdict in the view that notebooks have, with its films and hints.

import verdict from "../../src/p4lab/widgets/js/verdict.js";
import { python } from "./python.js";

export class Checks {
  // `failed` is called with what goes wrong after a click in the view.
  constructor(place, failed) {
    this.place = place;
    this.failed = failed;
    this.leave = () => {};
    this.asked = null; // by the check that is shown or under way
  }

  // Shows the verdict on a student's work.
  async check(work) {
    const question = { ask: "check", lab: work.lab.name, files: { ...work.files, ...work.memory } };
    const asked = (this.asked = {});
    const { html, failed, verdict: told, kept } = await python.ask(question);
    work.remember(kept);
    if (this.asked !== asked) return; // another lab is open
    this.#show({ data: { html, failed }, film: {}, hints: {} }, work);
    this.asked = asked;
    this.place.dataset.verdict = JSON.stringify(told);
  }

  // Empties the place, also of a verdict that is still to come.
  clear() {
    this.asked = null;
    this.leave();
    this.place.replaceChildren();
    delete this.place.dataset.verdict;
  }

  // The view's model, as a notebook has it: clicks go to Python, and what it answers comes back.
  #show(state, work) {
    const listeners = {};
    const set = (name, value) => {
      state[name] = value;
      for (const call of listeners[`change:${name}`] ?? []) call();
    };
    const model = {
      get: (name) => state[name],
      on: (name, call) => (listeners[name] ??= []).push(call),
      off: (name, call) => (listeners[name] = listeners[name]?.filter((one) => one !== call)),
      send: ({ do: ask, check }) =>
        python.ask({ ask, check }).then(({ kept, watch, hint }) => {
          work.remember(kept);
          if (watch) set("film", watch);
          if (hint) set("hints", hint);
        }, this.failed),
    };
    this.clear();
    this.leave = verdict.render({ model, el: this.place }) ?? (() => {});
  }
}
