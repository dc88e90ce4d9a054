import { ageing, box, html } from "./common.js";

// What Python has drawn: a track for each packet, and a table.
function render({ model, el }) {
  const title = html("b", {});
  const scene = html("div", { class: "p4v-scroll", tabindex: 0, role: "region", "aria-label": "Each packet" });
  const [old, stopAgeing] = ageing(model);
  const root = box("p4d-spoof", "Packets in another's name", old, html("div", { class: "p4v-bar" }, title), scene);

  function draw() {
    const data = model.get("data");
    title.textContent = data.title;
    scene.innerHTML = data.html;
  }

  model.on("change:data", draw);
  el.append(root);
  draw();
  return () => {
    stopAgeing();
    model.off("change:data", draw);
  };
}

export default { render };
