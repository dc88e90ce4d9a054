// What the views share: making elements, buttons, keys, and the colours of P4.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

// An HTML element: attributes by name, `onclick` and the like are listeners.
export function html(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// The same in SVG.
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// The box of a view. Keys typed in it are its own: JupyterLab's shortcuts stay out, and it must not
// take the arrow keys from a slider, which it does while they are on their way up.
export function box(name, label, ...children) {
  const own = (event) => {
    if (["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName)) event.stopPropagation();
  };
  return html(
    "section",
    { class: `p4v ${name}`, role: "group", "aria-label": label, "data-lm-suppress-shortcuts": "true", onkeydown: own },
    ...children,
  );
}

// What a compiler says, as parts in which sentences may be broken, but no line of a program and no
// caret below one.
export function excerpted(text) {
  return text.split(/^([ \d]*[|│╭├╰─╯].*)$/m).map((part, index) => {
    if (index % 2 === 0) return part;
    const [inset] = part.match(/^ *│ (?:Help|Note): /) ?? [];
    return inset
      ? html("span", { class: "p4v-help", style: `--inset: ${inset.length}ch` }, part)
      : html("span", { class: "p4v-excerpt" }, part);
  });
}

// Brings into view what a press has opened.
export function reveal(node) {
  requestAnimationFrame(() => node.scrollIntoView({ block: "nearest" }));
}

// A sentence in which `names` are of the program.
export function named(text) {
  return text.split(/`([^`]+)`/).map((part, index) => (index % 2 ? html("code", {}, part) : part));
}

// The line that says that a view shows something older than the program, and how to take it away.
// The errors of a program that does not compile stand in place of all else in the view.
export function ageing(model) {
  const line = html("p", { class: "p4v-old", role: "alert" });
  const look = () => {
    line.replaceChildren(...excerpted(model.get("old")));
    line.style.display = model.get("old") ? "" : "none";
    line.tabIndex = model.get("broken") ? 0 : -1; // its lines may be scrolled
    line.parentElement?.classList.toggle("p4v-broken", model.get("broken"));
  };
  model.on("change:old change:broken", look);
  look();
  queueMicrotask(look); // by then it stands in its view
  return [line, () => model.off("change:old change:broken", look)];
}

// Says in a view whose kernel was restarted what to do: nobody answers what is pressed there.
export function orphaning(model, root) {
  model.on("comm_live_update", () => root.classList.add("p4v-orphan"));
}

// What the views of one lab look at together: `chosen`, a router (`router`) and perhaps the copy that
// it sent to a neighbour (`to`), and `time`, in nanoseconds of the network, which is over when `ended`.
export function focusing() {
  const listeners = new Set();
  const tell = (what, ...values) => { for (const one of listeners) one[what]?.(...values); };
  return {
    chosen: null,
    time: 0,
    ended: false,
    choose(chosen) { this.chosen = chosen; tell("chosen", chosen); },
    set(time, ended) { this.time = time; this.ended = ended; tell("time", time, ended); },
    seek(time) { tell("sought", time); },
    // Calls `chosen`, `time` and `sought` of a listener; gives what ends that.
    listen(listener) { listeners.add(listener); return () => listeners.delete(listener); },
  };
}

// A button with a sign, and words for those who do not see it.
export function button(sign, label, onclick, more = {}) {
  return html("button", { type: "button", title: label, "aria-label": label, onclick, ...more }, sign);
}

// Whether a button has nowhere left to go. A disabled one would lose the focus, and its view the keys.
export function ends(button, nowhere) {
  button.setAttribute("aria-disabled", String(nowhere));
}

// A button that lets a view go on by itself, a step every `pace` milliseconds: from where it is (`at`)
// to its `last` step, or from the first if it is there. `stop` and `toggle` are for its other controls.
export function playing(label, pace, { at, last, go }) {
  let timer = null;
  const play = button("▶ play", label, () => toggle(), { class: "p4v-play" });
  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "▶ play";
  }
  function toggle() {
    if (timer) return stop();
    if (at() >= last()) go(0);
    play.textContent = "❚❚ pause";
    timer = setInterval(() => (at() < last() ? go(at() + 1) : stop()), pace);
  }
  return { play, stop, toggle };
}

// Calls what belongs to a key, unless somebody writes or the key is a button's own.
export function keys(node, actions) {
  node.addEventListener("keydown", (event) => {
    const action = actions[event.key];
    const own = event.target.tagName;
    if (!action || event.ctrlKey || event.altKey || event.metaKey) return;
    if (["INPUT", "SELECT", "TEXTAREA"].includes(own)) return;
    if (own === "BUTTON" && [" ", "Enter"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  });
}

const KEYWORDS = new Set(
  ("abstract action actions apply break const continue control default else entries enum exit extern " +
    "for header header_union if in inout key match_kind out package parser return select state struct " +
    "switch table this transition type typedef value_set").split(" "),
);
const TYPES = new Set("bit bool error int string tuple varbit void".split(" "));
const TOKEN = /(\/\/.*|\/\*.*?\*\/)|(^\s*#.*)|("(?:\\.|[^"\\])*")|(\b[0-9][0-9A-Za-z_]*)|([A-Za-z_]\w*)|(\s+|.)/g;

// A line of P4 as spans with the classes of its tokens.
export function coloured(line) {
  return [...line.matchAll(TOKEN)].map(([text, comment, meta, string, number, word]) => {
    let kind = null;
    if (comment) kind = "comment";
    else if (meta) kind = "meta";
    else if (string) kind = "string";
    else if (number) kind = "number";
    else if (TYPES.has(word)) kind = "type";
    else if (KEYWORDS.has(word)) kind = "keyword";
    return kind ? html("span", { class: `p4v-${kind}` }, text) : text;
  });
}
