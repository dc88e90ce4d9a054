import { box, html, orphaning } from "./common.js";

function render({ model, el }) {
  const links = html("div", { class: "p4v-links", role: "group", "aria-label": "Links" });
  const seen = heard("seen", "the routers at its ends see it");
  const tell = heard("tell", "tell the control plane");
  const root = box("p4v-linkbuttons", "Links between routers",
    html("b", {}, "Links between routers"), links,
    html("div", { class: "p4v-bar" }, html("span", { class: "p4v-name" }, "When one changes:"), seen, tell));

  function heard(name, label) {
    const input = html("input", { type: "checkbox", onchange: () => { model.set(name, input.checked); model.save_changes(); } });
    const look = () => { input.checked = model.get(name); };
    model.on(`change:${name}`, look);
    look();
    return html("label", {}, input, label);
  }

  // Buttons stay where they are: a press changes a word and a colour, and the focus is kept.
  function draw() {
    const { links: all, reroutes } = model.get("data");
    seen.style.display = reroutes ? "" : "none";
    while (links.children.length > all.length) links.lastChild.remove();
    all.forEach(({ a, b, up }, index) => {
      const button = links.children[index] ?? links.appendChild(html("button", { type: "button" }, html("span", {}), html("span", { class: "p4v-state" })));
      button.onclick = () => model.send({ a, b });
      button.dataset.link = `${a} ${b}`;
      button.classList.toggle("down", !up);
      button.setAttribute("aria-label", `${a} – ${b} ${up ? "up: break it" : "down: mend it"}`);
      button.title = up ? "Break this link" : "Mend this link";
      button.children[0].textContent = `${a} – ${b}`;
      button.children[1].textContent = up ? "up" : "✕ down";
    });
  }

  model.on("change:data", draw);
  el.append(root);
  orphaning(model, root);
  draw();
  return () => model.off("change:data change:seen change:tell");
}

export default { render };
