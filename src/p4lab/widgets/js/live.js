import { box, button, excerpted, focusing, html } from "./common.js";

const SIGNS = { passed: "✓", failed: "✗", waits: "–", checking: "…" };
const WORDS = { passed: "passed", failed: "not yet", waits: "waits for another part", checking: "being checked" };
const ENOUGH = 240; // pixels of a view that have to be seen of it
const modules = new Map(); // scripts of views by their text

// The nearest element around one that scrolls.
function scrolled(el) {
  const scrolls = (one) => /auto|scroll/.test(getComputedStyle(one).overflowY) && one.scrollHeight > one.clientHeight;
  let at = el.parentElement;
  while (at && !scrolls(at)) at = at.parentElement;
  return at;
}

// Draws a view, given as "IPY_MODEL_" and its number, into an element. `focus` is shared by all of them.
async function mount(host, reference, el, focus) {
  const model = await host.widget_manager.get_model(reference.replace(/^IPY_MODEL_/, ""));
  const text = model.get("_esm");
  if (!modules.has(text)) {
    const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    modules.set(text, import(url).finally(() => URL.revokeObjectURL(url)));
  }
  el.replaceChildren(html("style", {}, model.get("_css") ?? ""));
  const view = (await modules.get(text)).default;
  return (await view.render({ model, el, focus })) ?? (() => {});
}

function render({ model, el }) {
  const focus = focusing();
  let stops = [];
  let shown = null; // the tab, by its label: tables come and go
  let drawing = 0;

  const title = html("b", { class: "p4l-title" });
  const parts = html("ul", { class: "p4l-parts", "aria-label": "Parts of the lab" });
  const trouble = html("pre", { class: "p4l-trouble", role: "alert", tabindex: 0 });
  const network = html("div", { class: "p4l-network" });
  const which = html("b", {});
  const tabs = html("span", { class: "p4v-tabs", role: "tablist", "aria-label": "What the router did" });
  const wait = html("p", { class: "p4l-wait" });
  const panes = html("div", { class: "p4l-panes" });
  const details = html("div", { class: "p4l-details" }, html("div", { class: "p4v-bar" }, which, tabs), wait, panes);
  const hint = html("p", { class: "p4l-hint" });
  const root = box("p4l", "The living network", html("div", { class: "p4v-bar" }, title, parts), trouble,
    network, hint, details);

  async function build() {
    const mine = ++drawing;
    const views = model.get("views") ?? {};
    for (const stop of stops) stop();
    stops = [];
    panes.replaceChildren();
    const places = Object.keys(views).map((name) => {
      if (name === "network") return [name, network];
      const pane = html("div", { class: "p4l-pane", "data-pane": name });
      panes.append(pane);
      return [name, pane];
    });
    for (const [name, place] of places) {
      const stop = await mount(model, views[name], place, focus);
      if (mine !== drawing) return stop();
      stops.push(stop);
    }
    choose();
  }

  // What the compiler says stands in place of all views, which stay as they are for when it is over.
  function state() {
    trouble.replaceChildren(...excerpted(model.get("trouble") ?? ""));
    trouble.hidden = !trouble.textContent;
    const views = Object.keys(model.get("views") ?? {});
    for (const one of [network, hint]) one.hidden = !views.includes("network") || !trouble.hidden;
    details.hidden = !views.length || !trouble.hidden;
    // Without a link to cut there is one switch.
    const what = model.get("cuts") ? "a link to cut or mend it, a router" : model.get("chosen")?.router;
    hint.textContent = `Click ${what} for its tables, a packet for its headers.`;
    title.textContent = model.get("title") ?? "";
    root.dataset.saves = model.get("saves");
  }

  function light() {
    parts.replaceChildren(...(model.get("parts") ?? []).map((part, index) => html(
      "li", {}, button(`${SIGNS[part.status]} ${index + 1}`, `${part.title}: ${WORDS[part.status]}, ${part.points}`,
        () => { model.send({ part: part.id }); shown = "checks"; choose(); reveal(); },
        { class: part.status, "data-part": part.id }),
    )));
  }

  function label() {
    const all = model.get("tabs") ?? [];
    if (!all.some((tab) => tab.label === shown)) shown = all[0]?.label ?? null;
    tabs.replaceChildren(...all.map((tab) => button(tab.label, tab.label, () => { shown = tab.label; choose(); reveal(); },
      { role: "tab", "aria-selected": String(tab.label === shown) })));
  }

  // What was chosen may be below the fold, under many tabs. A verdict is about to come.
  function reveal() {
    requestAnimationFrame(() => {
      const { top, bottom: end } = panes.getBoundingClientRect();
      const bottom = current()?.name === "checks" ? Infinity : end;
      const fold = Math.min(window.innerHeight, scrolled(root)?.getBoundingClientRect().bottom ?? Infinity);
      if (Math.min(bottom, top + ENOUGH) > fold) details.scrollIntoView({ block: "start" });
    });
  }

  const current = () => (model.get("tabs") ?? []).find((tab) => tab.label === shown);

  // What is shown of the router that was chosen; a copy of it is chosen among its headers.
  function choose() {
    const { router, to, what } = focus.chosen ?? {};
    if (what) {
      shown = (model.get("tabs") ?? []).find((tab) => tab.name === what)?.label ?? shown;
      delete focus.chosen.what;
    }
    label();
    const tab = current();
    const wanted = { ...(model.get("chosen") ?? {}), ...(router ? { router } : {}), table: tab?.table ?? "" };
    model.set("chosen", wanted);
    model.save_changes();
    which.textContent = wanted.router ?? "";
    for (const pane of panes.children) pane.hidden = pane.dataset.pane !== tab?.name;
    pass();
  }

  // Nothing is shown of a router before the packet has come to it.
  function pass() {
    const tab = current();
    const arrival = model.get("arrival");
    const early = !tab?.table && tab?.name !== "checks" && !focus.ended && (arrival === null || focus.time < arrival);
    wait.textContent = early ? `No packet has come to ${model.get("chosen")?.router} yet.` : "";
    wait.hidden = !early;
    panes.hidden = early;
  }

  const clicked = () => {
    if (current()?.name === "checks") shown = null;
    choose();
  };
  const unlisten = focus.listen({ chosen: clicked, time: pass });
  const changes = {
    "change:views": build, "change:trouble change:title change:saves change:views": state,
    "change:parts": light, "change:tabs": label, "change:arrival": pass,
  };
  for (const [names, act] of Object.entries(changes)) model.on(names, act);
  el.append(root);
  state();
  light();
  build();
  return () => {
    drawing += 1;
    unlisten();
    for (const stop of stops) stop();
    for (const [names, act] of Object.entries(changes)) model.off(names, act);
  };
}

export default { render };
