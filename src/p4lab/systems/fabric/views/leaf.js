import { box, button, ends, html, keys, orphaning, playing, svg } from "./common.js";

const PACE = 120; // milliseconds a slot
const ROW = 24, LEFT = 12;
const NAME = 92, QUEUE = 112, AHEAD = 268; // where columns begin
// Beside a pane there is less room for gauges and ways: `out` is where the outputs begin, `lines` are those of the
// cache in a row. Below `least` pixels its letters cannot be read, and it scrolls.
const WIDE = { width: 920, gauge: 108, out: 640, credits: 120, lines: 64, least: 760 };
const NARROW = { width: 672, gauge: 84, out: 468, credits: 76, lines: 46, least: 552 };
const MOST_FRAMES = 9; // squares of a queue; more are a number
const COLOURS = 6;
const NEXT = { suspended: "suspension", evicted: "eviction" };

// A leaf slot by slot. Python has recorded the film; what is after it is asked of Python, if it can.
function render({ model, el }) {
  let data, at = 0, sought = null;

  const title = html("b", {});
  const { play, stop, toggle } = playing("Play (space)", PACE, { at: () => at, last: () => data.moments.length - 1, go });
  const back = button("◀ slot", "One slot back (arrow left)", () => { stop(); go(at - 1); }, { class: "p4v-back" });
  const next = button("slot ▶", "One slot on (arrow right)", () => { stop(); go(at + 1); }, { class: "p4v-next" });
  const toSuspended = button("⇥ suspension", "On to the next suspension (s)", () => jump("suspended"), { class: "p4f-suspended" });
  const toEvicted = button("⇥ eviction", "On to the next eviction (e)", () => jump("evicted"), { class: "p4f-evicted" });
  const more = button("", "Let the fabric run on for so many slots", () => { stop(); model.send({ do: "more" }); }, { class: "p4f-more" });
  const slider = html("input", { type: "range", min: 0, step: 1, "aria-label": "Slot", oninput: () => { stop(); go(Number(slider.value)); } });
  const clock = html("span", { class: "p4v-clock" });
  const bar = html("div", { class: "p4v-bar" }, play, back, next, toSuspended, toEvicted, more, slider, clock);
  const scene = html("div", { class: "p4f-scene", tabindex: 0, role: "region", "aria-label": "The leaf" });
  const said = html("p", { class: "p4v-said", role: "status", "aria-live": "polite" });
  const log = html("ol", { class: "p4v-log p4f-log", tabindex: 0, "aria-label": "All that happens" });
  const waits = html("ul", { class: "p4f-waits", "aria-label": "Who waits for whom" });
  const ring = html("div", { class: "p4f-ring" });
  const legend = html("p", { class: "p4f-legend" });
  const ending = html("p", { class: "p4v-verdict" });
  const beside = html("div", { class: "p4v-columns" }, log, html("div", { class: "p4f-why" }, waits, ring));
  const root = box("p4f-leaf", "A leaf of the fabric, slot by slot", title, bar, scene, legend, said, beside, ending);
  root.tabIndex = 0;
  keys(root, {
    ArrowLeft: () => { stop(); go(at - 1); }, ArrowRight: () => { stop(); go(at + 1); },
    " ": toggle, s: () => jump("suspended"), e: () => jump("evicted"),
    Home: () => { stop(); go(0); }, End: () => { stop(); go(data.moments.length - 1); },
  });

  const size = () => (scene.clientWidth < WIDE.least ? NARROW : WIDE);

  function jump(kind) {
    stop();
    const found = data.moments.findIndex((one, index) => index > at && one.said.some((each) => each.kind === kind));
    if (found >= 0) return go(found);
    if (!data.more) {
      said.textContent = `No other ${NEXT[kind]} comes in this film.`;
      return;
    }
    sought = data.moments.length;
    said.textContent = `Looking for the next ${NEXT[kind]} …`;
    model.send({ do: "until", kind });
  }

  function build() {
    data = model.get("data");
    title.textContent = data.title;
    ending.textContent = data.ending;
    ending.style.display = data.ending ? "" : "none";
    ending.classList.toggle("bad", data.circle.length > 0);
    more.textContent = `+ ${data.more} slots`;
    more.style.display = data.more ? "" : "none";
    legend.replaceChildren(
      html("span", { class: "granted" }, "granted"), html("span", { class: "asked" }, "asked for"), html("span", { class: "waits" }, "waits"),
      html("span", { class: "way" }, "a cell from the cache"), html("span", { class: "way direct" }, "from the port's payload"),
      ...data.flows.map((name, index) => html("span", { class: `flow f${index % COLOURS}` }, name)),
    );
    slider.max = data.moments.length - 1;
    log.replaceChildren(...data.moments.flatMap((one, index) => one.said.map((each) =>
      html("li", { class: each.kind, "data-at": index, onclick: () => { stop(); go(index); } }, `${one.time}: ${each.text}`))));
    beside.style.display = log.children.length || data.circle.length ? "" : "none";
    ring.replaceChildren(...(data.circle.length ? [circle(data.circle)] : []));
    const to = sought !== null && sought < data.moments.length ? sought : Math.min(at, data.moments.length - 1);
    const missed = sought !== null && sought >= data.moments.length;
    sought = null;
    go(to);
    if (missed) said.textContent = data.ending;
  }

  function go(to) {
    if (!data.moments.length) return;
    const last = data.moments.length - 1;
    at = Math.min(last, Math.max(0, to));
    const moment = data.moments[at];
    slider.value = at;
    slider.setAttribute("aria-valuetext", moment.time);
    ends(back, at === 0);
    ends(next, at === last);
    clock.textContent = moment.time;
    said.textContent = moment.said.length ? moment.said.map((one) => one.text).join("; ") + "." : crossing(data, moment);
    scene.replaceChildren(picture(data, moment, size()));
    const why = at === last && data.circle.length ? data.circle.map((one) => one.said) : moment.waits;
    waits.replaceChildren(...why.map((text) => html("li", {}, `${text}.`)));
    ring.style.display = at === last ? "" : "none";
    let current = null;
    for (const item of log.children) {
      const when = Number(item.dataset.at);
      item.classList.toggle("past", when <= at);
      item.removeAttribute("aria-current");
      if (when <= at) current = item;
    }
    current?.setAttribute("aria-current", "step");
    log.scrollTop = current ? current.offsetTop - log.clientHeight / 2 : 0;
  }

  model.on("change:data", build);
  el.append(root);
  orphaning(model, root);
  build();
  let drawn = size();
  const sizes = new ResizeObserver(() => {
    if (drawn === size()) return;
    drawn = size();
    go(at);
  });
  sizes.observe(scene);
  return () => {
    stop();
    sizes.disconnect();
    model.off("change:data", build);
  };
}

// What crosses in a slot, in words.
function crossing(data, moment) {
  const cells = (index) => moment.voqs.flatMap((row, voq) => (row[index] ? [data.voqs[voq].name] : []));
  const [cached, direct] = [cells(8), cells(9)];
  if (!cached.length && !direct.length) return "No cell of this leaf's ports crosses.";
  const parts = [];
  if (cached.length) parts.push(`from the cache: ${cached.join(", ")}`);
  if (direct.length) parts.push(`from the port's payload: ${direct.join(", ")}`);
  return `Cells cross ${parts.join("; ")}.`;
}

const write = (x, y, words, kind, more = {}) => svg("text", { x, y, class: kind, ...more }, words);

function picture(data, moment, size) {
  const parts = [write(NAME, 16, "VOQ", "head end"), write(QUEUE, 16, "frames", "head"), write(size.out + 58, 16, "credits free", "head")];
  if (data.sync) parts.push(write(AHEAD, 16, "cells ahead", "head"));
  const outputs = outlets(data, moment, size);
  let y = 26, before = null;
  const ways = [];
  data.voqs.forEach((voq, index) => {
    if (voq.from !== before) {
      parts.push(ingress(data, moment, voq.from, y, size));
      before = voq.from;
      y += ROW;
    }
    parts.push(queue(data, moment, index, y, size));
    const [cached, direct] = [moment.voqs[index][8], moment.voqs[index][9]];
    if (cached || direct) ways.push(way(y + ROW / 2, outputs.y(voq.to), !cached, size));
    y += ROW;
  });
  const bottom = Math.max(y, outputs.bottom) + 16;
  const cache = store(data, moment, bottom, size);
  const height = cache.bottom;
  const label = `The leaf after ${moment.time}`;
  return svg("svg", { viewBox: `0 0 ${size.width} ${height}`, class: "p4f", style: `min-width:${size.least}px`, role: "img", "aria-label": label },
    parts, outputs.parts, ways, cache.parts);
}

// The ingress side of a port: what it holds, and its sync CAM, the least recently used first.
function ingress(data, moment, place, y, size) {
  const [payload, headers, , stopping] = moment.ports[place];
  const cam = moment.cam[place].map((voq) => data.voqs[voq].name.split("→")[1]);
  const sync = data.sync ? `; sync CAM: ${cam.length ? cam.join(", ") : "empty"}` : "";
  const stop = stopping ? "; says STOP" : "";
  return svg("g", {}, svg("line", { x1: LEFT, x2: AHEAD + size.gauge, y1: y + 3, y2: y + 3, class: "rule" }),
    write(LEFT, y + 18, `port ${data.ports[place]}`, "port"),
    write(QUEUE, y + 18, `${payload} units, ${headers} headers in use${stop}${sync}`, "small"));
}

function queue(data, moment, index, y, size) {
  const [queued, asked, granted, suspended, ahead, flow, number, sent] = moment.voqs[index];
  const voq = data.voqs[index];
  const parts = [write(NAME, y + 16, `→ ${voq.name.split("→")[1]}`, "end")];
  for (let frame = 0; frame < Math.min(queued, MOST_FRAMES); frame += 1) {
    const kind = frame < granted ? "granted" : frame < asked ? "asked" : "waits";
    parts.push(svg("rect", { x: QUEUE + 13 * frame, y: y + 6, width: 10, height: 12, rx: 2, class: `frame ${kind}` }));
  }
  if (queued > MOST_FRAMES) parts.push(write(QUEUE + 13 * MOST_FRAMES + 2, y + 16, `+${queued - MOST_FRAMES}`, "small"));
  const first = flow >= 0 ? `: frame ${number} of flow ${flow}, ${sent} cells sent` : "";
  parts.push(svg("title", {}, `${voq.name}, lane ${voq.lane}, ${queued} frames, ${granted} granted${first}`));
  if (data.sync) parts.push(gauge(data, ahead, suspended, y, size.gauge));
  return svg("g", { class: suspended ? "voq suspended" : "voq" }, parts);
}

// How far ahead, with the thresholds at which a VOQ is suspended and goes on, unless a table decides.
function gauge(data, ahead, suspended, y, width) {
  const most = Math.max(2 * data.block, 1);
  const x = (cells) => AHEAD + (width * Math.min(cells, most)) / most;
  const tick = (cells, kind) => svg("line", { x1: x(cells), x2: x(cells), y1: y + 3, y2: y + 21, class: kind });
  const parts = [svg("rect", { x: AHEAD, y: y + 7, width, height: 10, class: "gauge" })];
  if (ahead > 0) parts.push(svg("rect", { x: AHEAD, y: y + 7, width: x(ahead) - AHEAD, height: 10, class: "ahead" }));
  if (!data.decided) parts.push(tick(data.resume, "tick"), tick(data.block, "tick block"));
  const words = suspended ? `${ahead} waits` : ahead >= 0 ? String(ahead) : "";
  parts.push(write(AHEAD + width + 6, y + 16, words, suspended ? "hot" : "small"));
  return parts;
}

// The outputs of the crossbar: ports with their credits and lines, and the links to the spines.
function outlets(data, moment, { out, credits: width }) {
  const parts = [];
  const row = (place) => 26 + ROW * (place < 0 ? moment.ports.length : place);
  moment.ports.forEach(([, , free, , busy], place) => {
    const y = row(place);
    parts.push(svg("g", {},
      write(out + 50, y + 16, data.ports[place], "end"),
      svg("rect", { x: out + 58, y: y + 7, width, height: 10, class: "gauge" }),
      svg("rect", { x: out + 58, y: y + 7, width: (width * free) / data.egress, height: 10, class: "credits" }),
      write(out + 58 + width + 6, y + 16, busy ? `${free}, sends` : String(free), "small")));
  });
  const y = row(-1);
  const words = moment.waiting ? `${moment.waiting} cells come in` : "";
  parts.push(write(out + 50, y + 16, "spines", "end"), write(out + 58, y + 16, words, "small"));
  return { parts, y: (place) => row(place) + ROW / 2, bottom: y + ROW };
}

function way(from, to, direct, { gauge, out }) {
  const [left, right] = [AHEAD + gauge + 72, out + 4];
  const middle = (left + right) / 2;
  return svg("path", { d: `M${left} ${from}C${middle} ${from} ${middle} ${to} ${right} ${to}`, class: direct ? "way direct" : "way" });
}

// The lines of the cache. A number is how many copies are to come.
function store(data, moment, top, { lines }) {
  const count = moment.cache.length;
  const free = data.lines - count;
  const words = data.lines
    ? `cache: ${count} of ${data.lines} lines in use, each with the copies still to come; with ${data.spare} free the first one goes`
    : "no cache";
  const parts = [write(LEFT, top + 12, words, "small start")];
  const at = (index) => ({ x: LEFT + 14 * (index % lines), y: top + 20 + 16 * Math.floor(index / lines) });
  moment.cache.forEach(([flow, number, cell, left], index) => {
    const { x, y } = at(index);
    parts.push(svg("g", { class: `line f${flow % COLOURS} ${number % 2 ? "odd" : ""}` },
      svg("rect", { x, y, width: 12, height: 14, rx: 2 }), write(x + 6, y + 11, String(left), "left"),
      svg("title", {}, `cell ${cell} of frame ${number} of flow ${flow}: ${left} copies to come`)));
  });
  for (let index = count; index < data.lines; index += 1) {
    parts.push(svg("rect", { ...at(index), width: 12, height: 14, rx: 2, class: index >= count + free - data.spare ? "free spare" : "free" }));
  }
  return { parts, bottom: top + 26 + 16 * Math.ceil(data.lines / lines) };
}

// Who waits for whom, as a ring of arrows.
function circle(edges) {
  const [width, height] = [440, 270];
  const place = (index) => {
    const turn = (2 * Math.PI * index) / edges.length - Math.PI / 2;
    return [width / 2 + 150 * Math.cos(turn), height / 2 + 110 * Math.sin(turn)];
  };
  const arrows = edges.map((_, index) => {
    const [[x1, y1], [x2, y2]] = [place(index), place(index + 1)];
    const [dx, dy] = [x2 - x1, y2 - y1];
    const bend = edges.length === 2 ? 0.25 : 0.08;
    const on = (part) => [x1 + part * dx - 4 * bend * part * (1 - part) * -dy, y1 + part * dy - 4 * bend * part * (1 - part) * dx];
    const points = Array.from({ length: 11 }, (_, step) => on(0.2 + 0.06 * step));
    const [ex, ey] = points[10], [px, py] = points[9];
    const angle = (Math.atan2(ey - py, ex - px) * 180) / Math.PI;
    return svg("g", { class: "edge" }, svg("path", { d: `M${points.map((point) => point.map((one) => one.toFixed(1)).join(" ")).join("L")}` }),
      svg("path", { d: "M0 0L-9 -4.5L-9 4.5z", class: "tip", transform: `translate(${ex.toFixed(1)} ${ey.toFixed(1)}) rotate(${angle.toFixed(0)})` }));
  });
  const names = edges.map((edge, index) => {
    const [x, y] = place(index);
    return write(x, y + 4 + 0.12 * (y - height / 2), edge.who, "node");
  });
  const label = `A circle: ${edges.map((edge) => edge.who).join(", which waits for ")}, which waits for ${edges[0].who}`;
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "p4f", role: "img", "aria-label": label }, arrows, names);
}

export default { render };
