import { ageing, box, button, coloured, ends, html, keys, named } from "./common.js";

const ROWS = [
  ["bit_string", "BitString", "in the packet's BIER header"],
  ["remaining", "remaining", "receivers that still wait for a copy"],
  ["fbm", "F-BM", "receivers behind the next hop, from the table"],
];
const AROUND = 5; // lines of source shown before and after the current one

function render({ model, el }) {
  let data, steps, at;

  const title = html("b", {});
  const tabs = html("span", { class: "p4v-tabs", role: "tablist", "aria-label": "Passes" });
  const back = button("◀ step", "One step back (arrow left)", () => go(at - 1), { class: "p4v-back" });
  const next = button("step ▶", "One step on (arrow right)", () => go(at + 1), { class: "p4v-next" });
  const slider = html("input", {
    type: "range", min: 0, step: 1, "aria-label": "Step", oninput: () => go(Number(slider.value)),
  });
  const place = html("span", { class: "p4v-clock" });
  const bits = html("div", { class: "p4v-bits", tabindex: 0, role: "region", "aria-label": "Bits" });
  const facts = html("div", { class: "p4v-facts" });
  const said = html("p", { class: "p4v-said", role: "status", "aria-live": "polite" });
  const source = html("div", { class: "p4v-source" });
  const controls = html("div", { class: "p4v-bar" }, back, next, slider, place);
  const columns = html("div", { class: "p4v-columns" },
    html("div", { class: "p4v-left" }, bits, said, facts), source);
  const [old, stopAgeing] = ageing(model);
  const root = box(
    "p4v-stepper", "The bits of one packet, step by step", old,
    html("div", { class: "p4v-bar" }, title, tabs),
    controls, columns,
  );
  root.tabIndex = 0;
  keys(root, {
    ArrowLeft: () => go(at - 1), ArrowRight: () => go(at + 1),
    Home: () => go(0), End: () => go(steps.length - 1),
    PageUp: () => toPass(-1), PageDown: () => toPass(1),
  });

  function build() {
    data = model.get("data");
    title.textContent = data.title;
    steps = data.passes.flatMap((one, index) => one.steps.map((step) => ({ ...step, pass: index })));
    slider.max = Math.max(0, steps.length - 1);
    tabs.replaceChildren(...data.passes.map((one, index) => button(
      `pass ${one.number}`, `pass ${one.number}: ${one.outcome}`,
      () => go(steps.findIndex((step) => step.pass === index)), { role: "tab", "data-pass": one.number },
    )));
    for (const part of [controls, columns]) part.style.display = steps.length ? "" : "none";
    if (steps.length) go(Math.max(0, steps.findIndex(told)));
  }

  // Whether there is anything to be seen at a step: before the parser has read a BitString, nothing is.
  function told({ state }) {
    return ROWS.some(([name]) => (state[name] ?? "").includes("1"));
  }

  function toPass(way) {
    const wanted = steps.findIndex((step) => step.pass === steps[at].pass + way);
    if (wanted >= 0) go(wanted);
  }

  function go(to) {
    if (!steps.length) return;
    at = Math.min(steps.length - 1, Math.max(0, to));
    const step = steps[at];
    slider.value = at;
    ends(back, at === 0);
    ends(next, at === steps.length - 1);
    place.textContent = `${at + 1} / ${steps.length}`;
    said.replaceChildren(...named(step.text));
    [...tabs.children].forEach((tab, index) =>
      tab.setAttribute("aria-selected", String(index === step.pass)));
    drawBits(step);
    drawFacts(step);
    drawSource(step);
  }

  // One column per bit, bit 1 on the right as in the header; long strings in rows of 32.
  function drawBits(step) {
    const width = data.names.length;
    const small = width > 16;
    const numbers = Array.from({ length: width }, (_, index) => width - index);
    const head = small ? [] : [
      html("tr", {}, html("th", { scope: "col" }, "bit"),
        numbers.map((number) => html("th", { scope: "col" }, String(number), html("i", {}, data.names[number - 1])))),
    ];
    const rows = ROWS.map(([name, label, what]) => {
      const value = step.state[name];
      const text = value === null ? null : value.padStart(width, "0");
      const changed = step.changed.includes(name) ? "changed" : "";
      const cells = numbers.map((number, index) => text === null
        ? html(small ? "i" : "td", { class: "none" }, "")
        : html(small ? "i" : "td", { class: text[index] === "1" ? "on" : "off", title: `bit ${number}: ${data.names[number - 1]}` }, small ? "" : text[index]));
      return html("tr", { class: changed, "data-row": name },
        html("th", { scope: "row", title: what }, label),
        small ? html("td", { class: "many" }, cells) : cells);
    });
    bits.replaceChildren(html("table", { "aria-label": "BitStrings" }, html("tbody", {}, head, rows)));
  }

  function drawFacts(step) {
    const { action, port, to } = step.state;
    const rows = [
      ["pass", String(data.passes[step.pass].number)],
      ["action", action ?? "–"],
      ["out port", port === null ? "–" : `${port}${to ? ` to ${to}` : ""}`],
      ["leaves", data.passes[step.pass].outcome || "nothing"],
    ];
    facts.replaceChildren(...rows.flatMap(([name, value]) =>
      [html("span", { class: "p4v-name" }, name), html("span", { "data-fact": name }, value)]));
  }

  function drawSource(step) {
    const file = data.sources[step.file];
    if (!file || !step.line) {
      source.classList.add("stale");
      return;
    }
    source.classList.remove("stale");
    const from = Math.max(1, step.line - AROUND);
    const to = Math.min(file.lines.length, step.line + AROUND);
    const lines = [];
    for (let line = from; line <= to; line++) {
      lines.push(html("div", { class: line === step.line ? "here" : "", "aria-current": line === step.line && "true" },
        html("i", {}, String(line)), html("code", {}, coloured(file.lines[line - 1]))));
    }
    source.replaceChildren(html("b", {}, `${file.name}, line ${step.line}`), html("div", { class: "p4v-code", tabindex: 0, role: "region", "aria-label": "Source" }, lines));
  }

  model.on("change:data", build);
  el.append(root);
  build();
  return () => {
    stopAgeing();
    model.off("change:data", build);
  };
}

export default { render };
