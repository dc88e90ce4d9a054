import { ageing, box, button, ends, html, keys, playing } from "./common.js";

const PACE = 1000; // milliseconds a step
const NARROW = 520; // pixels of the view in which the ladder stands above the rest
const LOW = 230, HIGH = 430; // its height, at most

// A call: the messages on a line as a ladder, and beside it what both ends know and what is said.
function render({ model, el }) {
  let data, at = 0;

  const title = html("b", {});
  const { play, stop, toggle } = playing("Play the call (space)", PACE, { at: () => at, last: () => data.steps.length - 1, go });
  const back = button("◀ step", "One step back (arrow left)", () => by(-1), { class: "p4v-back" });
  const next = button("step ▶", "One step on (arrow right)", () => by(1), { class: "p4v-next" });
  const slider = html("input", {
    type: "range", min: 0, step: 1, "aria-label": "Step", oninput: () => { stop(); go(Number(slider.value)); },
  });
  const place = html("span", { class: "p4v-clock" });
  const controls = html("div", { class: "p4v-bar" }, play, back, next, slider, place);
  const said = html("p", { class: "p4v-said p4d-said", role: "status", "aria-live": "polite" });
  const scene = html("div", { class: "p4d-scene", tabindex: 0, role: "region", "aria-label": "All messages" });
  const known = html("tbody", {});
  const who = html("th", { scope: "col" });
  const both = html("table", { class: "p4d-known" }, html("caption", {}, "What both ends know"),
    html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "protocol"), who, html("th", { scope: "col" }, "gateway"))), known);
  const fields = html("tbody", {});
  const caption = html("caption", {});
  const packet = html("table", { class: "p4d-packet" }, caption, fields);
  const beside = html("div", { class: "p4d-beside" }, both, packet);
  const ending = html("p", { class: "p4v-verdict" });
  const [old, stopAgeing] = ageing(model);
  const columns = html("div", { class: "p4v-columns" }, scene, beside);
  const root = box("p4d-view", "A subscriber dials in", old, html("div", { class: "p4v-bar" }, title), controls, said, columns, ending);
  root.tabIndex = 0;
  keys(root, {
    ArrowLeft: () => by(-1), ArrowRight: () => by(1), " ": toggle,
    Home: () => { stop(); go(0); }, End: () => { stop(); go(data.steps.length - 1); },
  });

  function build() {
    stop();
    data = model.get("data");
    root.setAttribute("aria-label", data.label);
    title.textContent = data.title;
    who.textContent = data.name;
    ending.textContent = data.ending;
    ending.classList.toggle("bad", !data.good);
    scene.innerHTML = `<svg viewBox="0 0 ${data.width} ${data.height}" class="p4d" role="img">${data.base}</svg>`;
    scene.firstElementChild.setAttribute("aria-label", data.label);
    for (const message of scene.querySelectorAll("[data-step]")) {
      message.addEventListener("click", () => { stop(); go(Number(message.dataset.step)); });
    }
    slider.max = Math.max(0, data.steps.length - 1);
    for (const part of [controls, columns, said]) part.style.display = data.steps.length ? "" : "none";
    measure();
    if (data.steps.length) go(0);
    else ending.style.visibility = "";
  }

  function by(steps) {
    stop();
    go(at + steps);
  }

  function go(to) {
    if (!data.steps.length) return;
    at = Math.min(data.steps.length - 1, Math.max(0, to));
    const step = data.steps[at];
    slider.value = at;
    slider.setAttribute("aria-valuetext", step.title);
    ends(back, at === 0);
    ends(next, at === data.steps.length - 1);
    place.textContent = `${at + 1} / ${data.steps.length}`;
    said.textContent = step.said;
    said.classList.toggle("bad", step.lost);
    ending.style.visibility = at === data.steps.length - 1 ? "" : "hidden"; // what is still to come is not told
    caption.textContent = step.title;
    fields.replaceChildren(...step.fields.map(([name, value]) =>
      html("tr", {}, html("th", { scope: "row" }, name), html("td", {}, value))));
    known.replaceChildren(...step.rows.map(({ cells, subscriber, gateway }) =>
      html("tr", {}, html("th", { scope: "row" }, cells[0]),
        html("td", { class: subscriber ? "new" : "" }, cells[1]), html("td", { class: gateway ? "new" : "" }, cells[2]))));
    for (const message of scene.querySelectorAll("[data-step]")) {
      const number = Number(message.dataset.step);
      message.classList.toggle("now", number === at);
      message.classList.toggle("later", number > at);
      if (number === at) reveal(message);
    }
  }

  // The ladder shows whole messages.
  function measure() {
    const limit = root.clientWidth <= NARROW ? LOW : HIGH;
    const unit = row();
    scene.style.maxHeight = unit ? `${Math.max(3, Math.floor(limit / unit)) * unit}px` : "";
  }

  function row() {
    return (scene.clientWidth / data.width) * data.row;
  }

  // Scrolls the ladder alone, not the page.
  function reveal(message) {
    const own = message.getBoundingClientRect(), whole = scene.getBoundingClientRect();
    const middle = scene.scrollTop + own.top - whole.top - scene.clientHeight / 2;
    scene.scrollTop = Math.round(middle / (row() || 1)) * (row() || 1);
  }

  const sizes = new ResizeObserver(() => { measure(); go(at); });

  model.on("change:data", build);
  el.append(root);
  build();
  sizes.observe(root);
  return () => {
    stop();
    sizes.disconnect();
    stopAgeing();
    model.off("change:data", build);
  };
}

export default { render };
