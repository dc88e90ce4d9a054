import { ageing, box, button, ends, html, keys } from "./common.js";

// The network on the left, the header's bytes on the right; or, where that is too narrow, the network
// beside the steps, and the bytes below. Python has drawn both: here they are put
// into the states of a step, and what is pointed at lights up on both sides.
function render({ model, el }) {
  let data, at, pinned;

  const title = html("b", {});
  const [old, stopAgeing] = ageing(model);
  const back = button("◀ step", "One step back (arrow left)", () => go(at - 1), { class: "p4v-back" });
  const next = button("step ▶", "One step on (arrow right)", () => go(at + 1), { class: "p4v-next" });
  const slider = html("input", {
    type: "range", min: 0, step: 1, "aria-label": "Step", oninput: () => go(Number(slider.value)),
  });
  const place = html("span", { class: "p4v-clock" });
  const controls = html("div", { class: "p4v-bar" }, back, next, slider, place);
  const said = html("p", { class: "p4v-said", role: "status", "aria-live": "polite" });
  const scene = html("div", { class: "p4m-scene" });
  const panel = html("div", { class: "p4m-panel" });
  const log = html("ol", { class: "p4v-log p4m-log", "aria-label": "All steps" });
  const ending = html("p", { class: "p4v-verdict" });
  const profile = html("p", { class: "p4m-profile" });
  const hint = html("p", { class: "p4m-hint" },
    "Point at an entry, a bit or a node. A click holds it.");
  const columns = html("div", { class: "p4m-columns" },
    html("div", { class: "p4m-left" }, scene, hint), log,
    html("div", { class: "p4m-right" }, panel));
  const root = box(
    "p4m-view", "The tree of a packet, beside its header",
    html("div", { class: "p4v-bar" }, title), old, controls, said, columns, ending, profile,
  );
  root.tabIndex = 0;
  keys(root, {
    ArrowLeft: () => go(at - 1), ArrowRight: () => go(at + 1),
    Home: () => go(0), End: () => go(data.steps.length - 1), Escape: () => pin(null),
  });

  // Whatever has a name in `points` can be pointed at; a click holds it.
  const named = (target) => target.closest?.("[data-cell], [data-node]");
  const cellOf = (thing) => thing.dataset.cell ?? `node ${thing.dataset.node}`;
  root.addEventListener("pointerover", (event) => {
    const thing = named(event.target);
    light(thing ? cellOf(thing) : pinned);
  });
  root.addEventListener("pointerleave", () => light(pinned));
  root.addEventListener("focusin", (event) => {
    const thing = named(event.target);
    if (thing) light(cellOf(thing));
  });
  root.addEventListener("focusout", () => light(pinned));
  root.addEventListener("click", (event) => {
    const thing = named(event.target);
    if (thing) pin(cellOf(thing) === pinned ? null : cellOf(thing));
  });

  function pin(cell) {
    pinned = cell;
    light(cell);
  }

  function light(cell) {
    const points = data.points[data.steps[at]?.tree] ?? {};
    const found = cell && points[cell];
    const lit = new Set(found ? [cell, ...found.cells] : []);
    const nodes = new Set(found ? found.nodes : []);
    const branch = new Set(found ? found.branch : []);
    const ways = new Set(found ? found.ways : []);
    root.classList.toggle("pointing", Boolean(found));
    for (const part of panel.querySelectorAll("[data-cell]")) {
      part.classList.toggle("lit", lit.has(part.dataset.cell));
      part.classList.toggle("held", part.dataset.cell === pinned);
    }
    for (const node of scene.querySelectorAll("[data-node]")) {
      node.classList.toggle("lit", nodes.has(node.dataset.node));
      node.classList.toggle("branch", branch.has(node.dataset.node));
    }
    for (const way of scene.querySelectorAll(".p4m-glow")) {
      way.classList.toggle("lit", ways.has(way.dataset.way));
    }
  }

  function build() {
    data = model.get("data");
    pinned = null;
    root.setAttribute("aria-label", data.label);
    root.classList.toggle("p4m-large", data.large);
    title.textContent = data.title;
    ending.textContent = data.ending;
    ending.classList.toggle("bad", !data.ok);
    profile.textContent = data.profile;
    scene.innerHTML =
      `<svg viewBox="0 0 ${data.width} ${data.height}" class="p4v-net p4m-net" role="group" ` +
      `style="max-width:${data.width}px">${data.base}</svg>`;
    scene.firstElementChild.setAttribute("aria-label", data.label);
    slider.max = Math.max(0, data.steps.length - 1);
    log.replaceChildren(...data.steps.map((step, index) =>
      html("li", { class: step.tone, onclick: () => go(index) }, step.short)));
    for (const part of [controls, said, columns]) part.style.display = data.steps.length ? "" : "none";
    if (data.steps.length) go(0);
    measure();
  }

  function go(to) {
    if (!data.steps.length) return;
    at = Math.min(data.steps.length - 1, Math.max(0, to));
    const step = data.steps[at];
    slider.value = at;
    slider.setAttribute("aria-valuetext", step.short);
    ends(back, at === 0);
    ends(next, at === data.steps.length - 1);
    place.textContent = `step ${at + 1} / ${data.steps.length}`;
    said.textContent = step.said;
    said.className = `p4v-said ${step.tone}`;
    show(step);
    for (const part of scene.querySelectorAll("[data-step]")) {
      const number = Number(part.dataset.step);
      part.classList.toggle("past", number < at);
      part.classList.toggle("now", number === at);
    }
    const reached = new Set(data.steps.slice(0, at + 1).map((one) => one.router));
    for (const node of scene.querySelectorAll("[data-node]")) {
      node.classList.toggle("busy", node.dataset.node === step.router);
      node.classList.toggle("reached", reached.has(node.dataset.node) || got(node.dataset.node));
    }
    [...log.children].forEach((item, index) => {
      item.classList.toggle("past", index <= at);
      if (index === at) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
    });
    const item = log.children[at];
    log.scrollTop = item.offsetTop - log.clientHeight / 2;
    light(pinned);
  }

  // Whether a copy has come to a host.
  function got(name) {
    return [...scene.querySelectorAll(".p4m-copy.past, .p4m-copy.now")].some(
      (copy) => copy.dataset.way.endsWith(` ${name}`));
  }

  // The header of a step. Who was at one of its rows stays there, and the arrow slides.
  function show(step) {
    const active = document.activeElement;
    const held = panel.contains(active) ? active.dataset.cell : null;
    const was = arrow()?.getBoundingClientRect().top;
    panel.innerHTML = step.panel;
    const now = arrow();
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (now && was !== undefined && !calm) {
      const way = was - now.getBoundingClientRect().top;
      now.animate([{ transform: `translateY(${way}px)` }, { transform: "none" }], 240);
    }
    if (held === null) return;
    const same = [...panel.querySelectorAll(active.tagName)].find((part) => part.dataset.cell === held);
    (same ?? root).focus({ preventScroll: true });
  }

  // The panel is as high as the highest of all steps, so that the steps below it do not move.
  function measure() {
    panel.style.minHeight = "";
    if (log.getBoundingClientRect().top < panel.getBoundingClientRect().top) return;
    const heights = data.steps.map((step) => {
      panel.innerHTML = step.panel;
      return panel.offsetHeight;
    });
    panel.style.minHeight = `${Math.max(0, ...heights)}px`;
    if (data.steps.length) panel.innerHTML = data.steps[at].panel;
    light(pinned);
  }

  function arrow() {
    return [...panel.querySelectorAll(".p4m-arrow")].find((cell) => cell.textContent);
  }

  let width = 0;
  const sizes = new ResizeObserver(() => {
    if (root.clientWidth === width) return;
    width = root.clientWidth;
    measure();
  });

  model.on("change:data", build);
  el.append(root);
  build();
  sizes.observe(root);
  return () => {
    sizes.disconnect();
    model.off("change:data", build);
    stopAgeing();
  };
}

export default { render };
