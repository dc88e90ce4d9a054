import { box, html, orphaning } from "./common.js";

function render({ model, el }) {
  const sliders = html("div", { class: "p4v-sliders", role: "group", "aria-label": "The traffic, and how ports may be used" });
  const rule = html("input", { type: "checkbox", onchange: () => model.send({ rule: rule.checked }) });
  const answer = html("div", { class: "p4v-answer", role: "status", "aria-live": "polite" });
  const root = box("p4v-calculator", "How many ports for recirculation", sliders, answer);
  const rows = new Map();
  let asked = null; // what to ask next: one question a frame, however fast a slider is dragged

  function row({ name, label, least, most, step }) {
    const shown = html("span", { class: "p4v-value", "aria-hidden": "true" });
    const input = html("input", {
      type: "range", min: least, max: most, step, "data-name": name, "aria-label": label,
      oninput: () => {
        if (asked === null) requestAnimationFrame(() => { model.send(asked); asked = null; });
        asked = { name, value: Number(input.value) };
      },
    });
    rows.set(name, { input, shown });
    return [html("label", {}, label), input, shown];
  }

  function draw() {
    const data = model.get("data");
    if (!rows.size) {
      const parts = data.sliders.map(row);
      const own = html("label", { class: "p4v-rule" }, rule, "as many ports in loopback mode as the rule wants");
      parts.splice(parts.length - 1, 0, own);
      sliders.replaceChildren(...parts.flat());
    }
    rule.checked = data.rule;
    for (const { name, value, shown, still } of data.sliders) {
      const known = rows.get(name);
      if (asked === null) known.input.value = value;
      known.input.disabled = still;
      known.input.setAttribute("aria-valuetext", shown);
      known.shown.textContent = shown;
    }
    answer.innerHTML = data.drawn;
  }

  model.on("change:data", draw);
  el.append(root);
  orphaning(model, root);
  draw();
  return () => model.off("change:data", draw);
}

export default { render };
