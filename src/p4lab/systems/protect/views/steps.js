import { ageing, box, button, ends, html, keys } from "./common.js";

const LEAST = 0.8; // of its size: below that the letters of a wide picture cannot be read

// A picture that Python has drawn, with what changes from step to step, and a list of all steps.
function render({ model, el }) {
  let data, at, layer;

  const title = html("b", {});
  const back = button("◀ step", "One step back (arrow left)", () => go(at - 1), { class: "p4v-back" });
  const next = button("step ▶", "One step on (arrow right)", () => go(at + 1), { class: "p4v-next" });
  const slider = html("input", {
    type: "range", min: 0, step: 1, "aria-label": "Step", oninput: () => go(Number(slider.value)),
  });
  const place = html("span", { class: "p4v-clock" });
  const controls = html("div", { class: "p4v-bar" }, back, next, slider, place);
  const scene = html("div", { class: "p4c-scene", tabindex: 0, role: "region", "aria-label": "The picture" });
  const said = html("p", { class: "p4v-said", role: "status", "aria-live": "polite" });
  const log = html("ol", { class: "p4v-log p4c-log", tabindex: 0, "aria-label": "All steps" });
  const ending = html("p", { class: "p4v-verdict" });
  const beside = html("div", { class: "p4c-beside" }, said, log, ending);
  const [old, stopAgeing] = ageing(model);
  const root = box(
    "p4c-view", "A picture, step by step", old,
    html("div", { class: "p4v-bar" }, title), controls,
    html("div", { class: "p4v-columns" }, scene, beside),
  );
  root.tabIndex = 0;
  keys(root, {
    ArrowLeft: () => go(at - 1), ArrowRight: () => go(at + 1),
    Home: () => go(0), End: () => go(data.steps.length - 1),
  });

  function build() {
    data = model.get("data");
    root.setAttribute("aria-label", data.label);
    title.textContent = data.title;
    ending.textContent = data.ending;
    ending.classList.toggle("bad", !data.ok);
    root.classList.toggle("p4c-wide", data.width > 500);
    scene.innerHTML =
      `<svg viewBox="0 0 ${data.width} ${data.height}" class="p4c" role="img" ` +
      `style="max-width:${data.width}px;min-width:${data.width > 500 ? data.width * LEAST : 0}px">${data.base}<g></g></svg>`;
    const picture = scene.firstElementChild;
    picture.setAttribute("aria-label", data.label);
    layer = picture.lastElementChild;
    slider.max = Math.max(0, data.steps.length - 1);
    log.replaceChildren(...data.steps.map((step, index) =>
      html("li", { class: step.tone, onclick: () => go(index) }, step.short)));
    for (const part of [controls, scene, log]) part.style.display = data.steps.length ? "" : "none";
    if (data.steps.length) go(0);
    else said.textContent = "";
  }

  function go(to) {
    if (!data.steps.length) return;
    at = Math.min(data.steps.length - 1, Math.max(0, to));
    const step = data.steps[at];
    slider.value = at;
    slider.setAttribute("aria-valuetext", step.short);
    ends(back, at === 0);
    ends(next, at === data.steps.length - 1);
    place.textContent = `${data.unit} ${at + 1} / ${data.steps.length}`;
    said.textContent = step.said;
    layer.innerHTML = step.layer;
    [...log.children].forEach((item, index) => {
      item.classList.toggle("past", index <= at);
      if (index === at) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
    });
    const item = log.children[at];
    log.scrollTop = item.offsetTop - log.clientHeight / 2;
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
