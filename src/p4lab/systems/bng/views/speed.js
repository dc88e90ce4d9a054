import { ageing, box, button, html, orphaning } from "./common.js";

const PACE = 700; // milliseconds until the next fifth of a second of the network

// A dial for each subscriber. Python draws them; here are the controls.
function render({ model, el }) {
  const cards = new Map();
  let timer = null;

  const title = html("b", { role: "status", "aria-live": "polite" });
  const play = button("▶ play", "Let time pass", () => (timer ? stop() : start()), { class: "p4v-play" });
  const next = button("0.2 s ▶", "Let a fifth of a second pass", () => { stop(); model.send({ do: "run" }); }, { class: "p4v-next" });
  const offer = html("select", { onchange: () => model.send({ do: "offer", choice: offer.selectedIndex }) });
  const offered = html("label", { class: "p4d-choice" }, "sent to each ", offer);
  const controls = html("div", { class: "p4v-bar" }, play, next, offered);
  const legend = html("p", { class: "p4d-legend" },
    html("span", { class: "delivered" }, "what arrives"), html("span", { class: "agreed" }, "agreed"), html("span", { class: "offered" }, "sent"));
  const grid = html("div", { class: "p4d-cards" });
  const [old, stopAgeing] = ageing(model);
  const root = box("p4d-speeds", "Speed of each subscriber", old, html("div", { class: "p4v-bar" }, title), controls, legend, grid);

  function start() {
    play.textContent = "❚❚ pause";
    model.send({ do: "run" });
    timer = setInterval(() => model.send({ do: "run" }), PACE);
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "▶ play";
  }

  function card(name, limits) {
    const choice = html("select", {
      "data-who": name, onchange: () => model.send({ do: "agree", who: name, choice: choice.selectedIndex }),
    }, limits.map((limit) => html("option", {}, limit)));
    const picture = html("div", {});
    const said = html("p", {});
    grid.append(html("section", { class: "p4d-card", "aria-label": name }, html("b", {}, name), picture, said,
      html("label", { class: "p4d-choice" }, "agreed ", choice)));
    return { choice, picture, said };
  }

  function draw() {
    const data = model.get("data");
    title.textContent = data.title;
    controls.style.display = legend.style.display = data.problem ? "none" : "";
    if (!offer.length) offer.append(...data.offers.map((rate) => html("option", {}, rate)));
    offer.selectedIndex = data.offered;
    for (const one of data.subscribers) {
      if (!cards.has(one.name)) cards.set(one.name, card(one.name, data.limits));
      const { choice, picture, said } = cards.get(one.name);
      choice.selectedIndex = one.limit;
      choice.disabled = Boolean(data.problem);
      picture.innerHTML = `<svg viewBox="0 0 ${data.width} ${data.height}" class="p4d" role="img">${one.picture}</svg>`;
      picture.firstElementChild.setAttribute("aria-label", `${one.name} ${one.said}`);
      said.textContent = one.said;
      said.classList.toggle("bad", one.bad);
    }
  }

  model.on("change:data", draw);
  el.append(root);
  orphaning(model, root);
  draw();
  return () => {
    stop();
    stopAgeing();
    model.off("change:data", draw);
  };
}

export default { render };
