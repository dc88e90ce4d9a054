import { ageing, box, focusing, html } from "./common.js";

const SIGNS = { added: "added", removed: "removed", changed: "changed", same: "unchanged" };

function render({ model, el, focus = focusing() }) {
  let data;
  let chosen = 0;

  const title = html("b", {});
  const choice = html("select", { "aria-label": "Which copy", onchange: () => { chosen = choice.selectedIndex; draw(); } });
  const all = html("input", { type: "checkbox", onchange: () => draw() });
  const every = html("label", {}, all, " all fields");
  const packets = html("div", { class: "p4v-packets" });
  const bar = html("div", { class: "p4v-bar" }, title, choice, every);
  const [old, stopAgeing] = ageing(model);
  const root = box("p4v-diff", "The packet before and after", old, bar, packets);

  function build() {
    data = model.get("data");
    chosen = Math.max(0, data.variants.findIndex(({ to }) => to === focus.chosen?.to));
    title.textContent = data.title;
    choice.replaceChildren(...data.variants.map((variant) => html("option", {}, variant.label)));
    choice.selectedIndex = chosen;
    choice.hidden = data.variants.length < 2;
    every.style.display = data.variants.length ? "" : "none";
    draw();
  }

  function draw() {
    const variant = data.variants[chosen];
    if (!variant && data.came.length) return packets.replaceChildren(arrived(data.came));
    packets.replaceChildren(...(variant ? [
      html("table", { "aria-label": `Packet before and after, ${variant.label}` },
        html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "header and field"),
          html("th", { scope: "col" }, "as it came"), html("th", { scope: "col" }, `as it left, ${variant.label}`))),
        variant.headers.map(header)),
    ] : []));
  }

  // A packet that ends here, with nothing to compare it with.
  function arrived(headers) {
    return html("table", { "aria-label": "Packet as it came" },
      html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "header and field"), html("th", { scope: "col" }, "as it came"))),
      headers.map(({ name, fields }) => html("tbody", { "data-header": name },
        html("tr", { class: "p4v-head" }, html("th", { scope: "rowgroup" }, name), html("td")),
        Object.entries(fields).map(([field, text]) =>
          html("tr", { "data-field": `${name}.${field}` }, html("th", { scope: "row" }, field), cell(text))))));
  }

  function header({ name, state, fields }) {
    const shown = fields.filter((field) => all.checked || state === "added" || state === "removed" || field.changed);
    const folded = fields.length - shown.length;
    return html(
      "tbody",
      { class: state, "data-header": name },
      html("tr", { class: "p4v-head" }, html("th", { scope: "rowgroup" }, name),
        cell(state === "added" ? null : name), cell(state === "removed" ? null : `${name} · ${SIGNS[state]}`)),
      shown.map((field) => html(
        "tr",
        { class: field.changed ? "changed" : "", "data-field": `${name}.${field.name}` },
        html("th", { scope: "row" }, field.name), cell(field.before), cell(field.after, field.changed),
      )),
      folded && shown.length + folded > 0 && !all.checked && state === "changed"
        ? html("tr", { class: "p4v-folded" }, html("th", {}, `${folded} unchanged`), html("td"), html("td")) : null,
    );
  }

  function cell(text, changed) {
    if (text === null || text === undefined) return html("td", { class: "none", "aria-label": "not there" }, "–");
    return html("td", {}, changed ? html("mark", {}, text) : text);
  }

  const unlisten = focus.listen({ chosen: build });
  model.on("change:data", build);
  el.append(root);
  build();
  return () => {
    stopAgeing();
    unlisten();
    model.off("change:data", build);
  };
}

export default { render };
