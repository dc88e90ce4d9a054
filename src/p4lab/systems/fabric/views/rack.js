import { box, button, ends, html, keys, playing, svg } from "./common.js";

const PACE = 350; // milliseconds a step
const TILE = { width: 26, height: 46, gap: 4 };
const COLUMNS = 8; // tiles of a rack side by side: its eight groups of four leaves
const KINDS = [["up", "into links"], ["loop", "into the surrogate"], ["out", "to servers"]];

// The leaves of all racks as tiles, with a bar for each kind of load.
function render({ model, el }) {
  const data = model.get("data");
  let at = 0, chosen = 0;

  const { play, stop, toggle } = playing("Play (space)", PACE, { at: () => at, last: () => data.moments.length - 1, go });
  const back = button("◀ step", "One step back (arrow left)", () => { stop(); go(at - 1); });
  const next = button("step ▶", "One step on (arrow right)", () => { stop(); go(at + 1); }, { class: "p4v-next" });
  const slider = html("input", { type: "range", min: 0, max: data.moments.length - 1, step: 1, "aria-label": "Step", oninput: () => { stop(); go(Number(slider.value)); } });
  const clock = html("span", { class: "p4v-clock" });
  const count = data.moments[0]?.out.length ?? 0;
  const choice = html("select", { onchange: () => choose(choice.selectedIndex) },
    Array.from({ length: count }, (_, leaf) => html("option", {}, String(leaf))));
  const bar = html("div", { class: "p4v-bar" }, play, back, next, slider, clock, html("label", {}, "leaf ", choice));
  const scene = html("div", { class: "p4f-scene" });
  const said = html("p", { class: "p4v-said", role: "status", "aria-live": "polite" });
  const one = html("p", { class: "p4f-one" });
  const legend = html("p", { class: "p4f-legend" }, KINDS.map(([kind, name]) =>
    html("span", { class: kind }, `${name}, up to ${data.most[kind]} Gb/s`)));
  const ending = html("p", { class: "p4v-verdict bad" }, data.ending);
  const root = box("p4f-rack", "The rack, step by step", html("b", {}, data.title), bar, scene, legend, said, one, ending);
  ending.style.display = data.ending ? "" : "none";
  root.tabIndex = 0;
  keys(root, {
    ArrowLeft: () => { stop(); go(at - 1); }, ArrowRight: () => { stop(); go(at + 1); }, " ": toggle,
    Home: () => { stop(); go(0); }, End: () => { stop(); go(data.moments.length - 1); },
  });
  const [picture, tiles] = map(data, count, choose);
  scene.append(picture);

  function choose(leaf) {
    tiles[chosen]?.group.classList.remove("watched");
    chosen = leaf;
    choice.selectedIndex = leaf;
    tiles[leaf].group.classList.add("watched");
    tell();
  }

  function tell() {
    const moment = data.moments[at];
    const level = data.levels[chosen];
    const role = level === undefined ? "" : `, a surrogate of level ${level}`;
    one.textContent = `Leaf ${chosen}${role}: ${KINDS.map(([kind, name]) => `${moment[kind][chosen]} Gb/s ${name}`).join(", ")}.`;
  }

  function go(to) {
    at = Math.min(data.moments.length - 1, Math.max(0, to));
    const moment = data.moments[at];
    slider.value = at;
    slider.setAttribute("aria-valuetext", moment.time);
    ends(back, at === 0);
    ends(next, at === data.moments.length - 1);
    clock.textContent = moment.time;
    tiles.forEach((tile, leaf) => tile.show(moment, leaf));
    const sum = (kind) => moment[kind].reduce((all, value) => all + value, 0);
    const most = moment.up.indexOf(Math.max(...moment.up));
    const reached = moment.out.filter((value) => value > 0).length;
    said.textContent = `${reached} of ${count} leaves send to servers, ${sum("out").toLocaleString("en")} Gb/s in all. ` +
      `Leaf ${most} sends most into links: ${moment.up[most]} Gb/s. A spine carries up to ${Math.max(...moment.spines)} Gb/s.`;
    tell();
  }

  el.append(root);
  if (count) {
    go(0);
    choose(0);
  }
  return stop;
}

// Racks side by side; in each, four leaves of a group below each other.
function map(data, count, choose) {
  const racks = Math.ceil(count / data.rack);
  const wide = COLUMNS * (TILE.width + TILE.gap) + 16;
  const rows = Math.ceil(Math.min(count, data.rack) / COLUMNS);
  const high = rows * (TILE.height + TILE.gap) + 34;
  const across = Math.min(racks, 4);
  const [width, height] = [across * wide, Math.ceil(racks / across) * high];
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "p4f", role: "img", "aria-label": "Leaves with their loads", style: `max-width:${Math.max(width, 420)}px` });
  const tiles = Array.from({ length: count }, (_, leaf) => {
    const [rack, place] = [Math.floor(leaf / data.rack), leaf % data.rack];
    const x = (rack % across) * wide + 8 + Math.floor(place / rows) * (TILE.width + TILE.gap);
    const y = Math.floor(rack / across) * high + 22 + (place % rows) * (TILE.height + TILE.gap);
    const bars = KINDS.map(([kind], index) => [kind, svg("rect", { x: x + 3 + 7 * index, width: 6, class: `load ${kind}` })]);
    const name = svg("title", {}, `leaf ${leaf}`);
    const group = svg("g", { class: "tile", onclick: () => choose(leaf) }, name,
      svg("rect", { x, y, width: TILE.width, height: TILE.height, class: "gauge" }), bars.map(([, bar]) => bar));
    picture.append(group);
    const show = (moment) => {
      for (const [kind, bar] of bars) {
        const part = Math.min(1, moment[kind][leaf] / data.most[kind]);
        const length = moment[kind][leaf] ? Math.max(1, part * (TILE.height - 4)) : 0;
        bar.setAttribute("y", y + TILE.height - 2 - length);
        bar.setAttribute("height", length);
      }
    };
    return { group, show };
  });
  for (let rack = 0; rack < racks; rack += 1) {
    const [x, y] = [(rack % across) * wide + 8, Math.floor(rack / across) * high + 15];
    const [first, last] = [rack * data.rack, Math.min(count, (rack + 1) * data.rack) - 1];
    picture.append(svg("text", { x, y, class: "small" }, `rack ${rack}: leaves ${first} to ${last}`));
  }
  return [picture, tiles];
}

export default { render };
