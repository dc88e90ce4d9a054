import { ageing, box, button, focusing, html, keys, orphaning, svg } from "./common.js";

const FLIGHT_SECONDS = 1.1; // a usual flight, on the screen
const SLOWEST_FRAME = 80; // milliseconds: on a busy machine a flight takes longer, and is still seen
const CELL = 7.5; // width of a digit in a packet
const LETTER = 6; // width of a letter
const FLAT = 0.8; // height of a host's box, in radii of a router
const FRAME = 20; // height of a frame
const LEAST = 8; // what a frame flies at least, on either side of the middle
const BESIDE = 10; // from a way to the number of its frames
const DIGIT = 8; // half of a number, and a gap
const GAP = 3; // between a node and what begins or ends at it

// How wide a frame is.
const width = ({ label, kind }) => (kind === "digits" ? label.length * CELL + 5 : 10 + label.length * LETTER);

// A frame with its label: a text, or a row of cells of which those with 0 are empty.
function packet({ label, kind }) {
  const glyph = svg("g", { class: `p4v-packet ${kind}` });
  if (kind !== "digits") {
    glyph.append(...pill(width({ label, kind }), label));
    return glyph;
  }
  const all = label.length * CELL;
  const cells = [...label].map((digit, index) =>
    svg(
      "g",
      { class: digit === "0" ? "off" : "on" },
      svg("rect", { x: index * CELL - all / 2, y: -7, width: CELL - 1, height: 14, rx: 1.5 }),
      svg("text", { x: (index + 0.5) * CELL - all / 2 - 0.5, y: 3.5 }, digit),
    ),
  );
  glyph.append(svg("rect", { class: "p4v-pill", x: -all / 2 - 3, y: -10, width: all + 5, height: 20, rx: 5 }), ...cells);
  return glyph;
}

function pill(width, text) {
  return [
    svg("rect", { class: "p4v-pill", x: -width / 2, y: -9, width, height: 18, rx: 9 }),
    svg("text", { y: 3.5 }, text),
  ];
}

function milliseconds(nanoseconds) {
  return `${(Math.max(0, nanoseconds) / 1e6).toFixed(2)} ms`;
}

// `focus` is what several views of one lab look at; alone, a view has its own.
function render({ model, el, focus = focusing() }) {
  let data, time, first, last, stops, speed;
  let running = null;
  const at = {};
  const half = {};
  let lines, touched, trails, counts, flying, glyphs, nodes, takes;
  const tipId = `p4v-tip-${Math.random().toString(36).slice(2)}`; // views on one page share ids

  const scene = html("div", { class: "p4v-scene" });
  const log = html("ol", { class: "p4v-log", "aria-label": "What happened", tabindex: 0 });
  const clock = html("output", { class: "p4v-clock" });
  const verdict = html("p", { class: "p4v-verdict", role: "status" });
  // `kind` is "good", "bad" or, while nothing is decided, "open".
  const say = (text, kind) => {
    verdict.textContent = text;
    for (const one of ["bad", "open"]) verdict.classList.toggle(one, one === kind);
  };
  const slider = html("input", {
    type: "range", min: 0, max: 1000, step: 1, value: 0, "aria-label": "Virtual time",
    oninput: () => { pause(); seek(first + (slider.value / 1000) * (last - first)); },
  });
  const back = button("◀", "One hop back (arrow left)", () => step(-1), { class: "p4v-back" });
  const play = button("▶ play", "Play or pause (space)", () => toggle(), { class: "p4v-play" });
  const next = button("▶|", "One hop on (arrow right)", () => step(1), { class: "p4v-next" });
  const send = button("✉ send a packet", "Send one more packet and watch it", () => {
    say("sending…", "open");
    model.send({ do: "send" });
  }, { class: "p4v-send" });
  const stream = html("select", { "aria-label": "What is sent", class: "p4v-stream", onchange: () => {
    say("sending…", "open");
    model.send({ do: "send", stream: stream.selectedIndex });
  } });
  const [old, stopAgeing] = ageing(model);
  const root = box(
    "p4v-topology", "The network and the packets on its links", old,
    html("div", { class: "p4v-bar" }, stream, send, back, play, next, slider, clock),
    html("div", { class: "p4v-columns" }, scene, log),
    verdict,
  );
  root.tabIndex = 0;
  keys(root, {
    " ": toggle, ArrowLeft: () => step(-1), ArrowRight: () => step(1),
    Home: () => { pause(); seek(first); }, End: () => { pause(); seek(last); },
  });

  // What was pressed keeps the focus, though it is drawn anew.
  function build() {
    const { touch, node: pressed } = scene.contains(document.activeElement) ? document.activeElement.dataset : {};
    data = model.get("data");
    for (const node of data.nodes) {
      at[node.name] = [node.x, node.y];
      half[node.name] = node.half;
    }
    stream.replaceChildren(...data.streams.map((name) => html("option", {}, name)));
    stream.selectedIndex = data.stream;
    stream.hidden = data.streams.length < 2;
    first = Math.min(0, ...data.flights.map((flight) => flight.start));
    last = Math.max(1, ...data.flights.map((flight) => flight.end));
    const starts = [...new Set(data.flights.map((flight) => flight.start))].sort((a, b) => a - b);
    stops = starts.map((start, index) => (start + (starts[index + 1] ?? last)) / 2);
    stops.push(last);
    const lengths = data.flights.map((flight) => flight.end - flight.start).sort((a, b) => a - b);
    speed = (lengths[lengths.length >> 1] || last - first) / FLIGHT_SECONDS; // ns per second
    lines = data.links.map(([a, b]) => svg("line", { class: "p4v-link", "data-link": `${a} ${b}`, ...between(a, b) }));
    const routers = new Set(data.nodes.filter(({ kind }) => kind === "router").map(({ name }) => name));
    touched = data.links.filter((ends) => ends.every((end) => routers.has(end))).map(touchable);
    trails = svg("g");
    counts = svg("g");
    flying = svg("g");
    glyphs = new Map();
    nodes = new Map(data.nodes.map((node) => [node.name, drawNode(node)]));
    takes = new Map(data.nodes.map((node) => [node.name, node.takes]));
    const tip = svg(
      "marker",
      { id: tipId, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" },
      svg("path", { d: "M0 0L8 4L0 8z", class: "p4v-tip" }),
    );
    scene.replaceChildren(svg(
      "svg",
      { viewBox: `0 0 ${data.width} ${data.height}`, class: data.size < 17 ? "p4v-net large" : "p4v-net", role: "group", "aria-label": data.title },
      svg("defs", {}, tip), lines, trails, touched, [...nodes.values()], counts, flying,
    ));
    log.replaceChildren(...data.events.map((event) => html("li", {
      onclick: () => { pause(); seek(stops.find((stop) => stop > event.time) ?? last); },
    }, event.text)));
    links();
    look();
    (touched.find((line) => line.dataset.touch === touch) ?? (pressed && nodes.get(pressed)))?.focus({ preventScroll: true });
  }

  function between(a, b) {
    return { x1: at[a][0], y1: at[a][1], x2: at[b][0], y2: at[b][1] };
  }

  // What is to be clicked, or pressed with Enter: `act` is called with what happened.
  function pressed(act) {
    const choose = (event) => { event.stopPropagation(); act(); };
    return {
      tabindex: 0, onclick: choose,
      onkeydown: (event) => { if (event.key === "Enter") { event.preventDefault(); choose(event); } },
    };
  }

  // A link is thin: what is clicked is wider than what is seen.
  function touchable([a, b]) {
    const name = svg("title");
    const line = svg("line", { class: "p4v-touch", role: "button", "data-touch": `${a} ${b}`, ...between(a, b),
      ...pressed(() => model.send({ do: "link", ends: [a, b] })) }, name);
    return line;
  }

  function drawNode({ name, kind, x, y, note, mark, mark_at: [markX, markY] = [] }) {
    const shape = kind === "router"
      ? svg("circle", { cx: x, cy: y, r: data.size })
      : svg("rect", { x: x - half[name], y: y - data.size * FLAT, width: 2 * half[name], height: 2 * FLAT * data.size, rx: data.size / 3 });
    return svg(
      "g",
      { class: `p4v-node ${kind} ${note}`, "data-node": name,
        ...(kind === "router" ? { role: "button", "aria-label": [`router ${name}`, mark].filter(Boolean).join(", "),
          ...pressed(() => focus.choose({ router: name })) } : {}) },
      svg("title", {}, [name, note || kind, mark].filter(Boolean).join(", ")), shape,
      svg("text", { x, y: y + data.size / 4 }, name),
      kind === "host" ? svg("text", { class: "p4v-no", x: x + half[name], y: y - data.size * 0.5 }, "✗") : null,
      mark && data.size >= 17 ? svg("text", { class: "p4v-mark", x: markX, y: markY }, mark) : null,
    );
  }

  // The router or the packet that all views look at.
  function look() {
    const { router, to } = focus.chosen ?? {};
    for (const [name, node] of nodes) {
      node.classList.toggle("chosen", name === router);
      if (node.getAttribute("role")) node.setAttribute("aria-pressed", String(name === router));
    }
    for (const [number, glyph] of glyphs) {
      const { source, target } = data.flights[number];
      glyph.classList.toggle("chosen", source === router && target === to);
    }
  }

  // What is true of the links now, not when the packets flew.
  function links() {
    const down = new Set((model.get("down") ?? []).map((ends) => [...ends].sort().join(" ")));
    for (const line of lines) {
      const is = down.has(line.dataset.link.split(" ").sort().join(" "));
      line.classList.toggle("down", is);
    }
    for (const line of touched) {
      const ends = line.dataset.touch.split(" ");
      const is = down.has([...ends].sort().join(" "));
      line.setAttribute("aria-pressed", String(is));
      line.setAttribute("aria-label", `cut the link ${ends.join(" to ")}`);
      line.firstChild.textContent = `${ends.join(" – ")}: click to ${is ? "mend" : "cut"}`;
    }
  }

  // Where a way leaves one node and where it comes to the next, and its direction.
  function way({ source, target }) {
    const [x1, y1] = at[source];
    const [x2, y2] = at[target];
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
    const edge = (name) => GAP + (half[name] ? Math.min(half[name] / Math.abs(ux), (FLAT * data.size) / Math.abs(uy)) : data.size);
    return { x: x1, y: y1, ux, uy, begin: edge(source), end: length - edge(target) };
  }

  // How far a frame is above its way: where the way is too short for it, it flies beside both nodes if
  // no other is there.
  function lift(flight) {
    const { x, y, ux, uy, begin, end } = way(flight);
    const room = Math.min(width(flight) / 2 / Math.abs(ux), FRAME / 2 / Math.abs(uy));
    if (2 * room <= end - begin) return 0;
    const up = data.size + FRAME / 2 + GAP;
    const middle = (begin + end) / 2;
    const free = (rise) => data.nodes.every((node) =>
      Math.abs(node.x - x - ux * middle) > width(flight) / 2 + LEAST + (node.half ?? data.size)
      || Math.abs(node.y - y - uy * middle + rise) > FRAME / 2 + data.size);
    return [up, -up].find(free) ?? 0;
  }

  // A frame covers neither the node that it leaves nor the one that it comes to, if there is room.
  function point(flight, part) {
    const { x, y, ux, uy, begin, end } = way(flight);
    const room = Math.min(width(flight) / 2 / Math.abs(ux), FRAME / 2 / Math.abs(uy));
    const middle = (begin + end) / 2;
    const first = Math.min(begin + room, middle - LEAST);
    const last = Math.max(end - room, middle + LEAST);
    const gone = first + (last - first) * part;
    return [x + ux * gone, y + uy * gone - lift(flight)];
  }

  function seek(to) {
    time = Math.min(last, Math.max(first, to));
    slider.value = Math.round(((time - first) / (last - first)) * 1000);
    clock.textContent = milliseconds(time);
    const carried = new Map();
    const riding = new Set();
    const busy = new Set();
    const rows = new Map();
    const shown = new Set();
    data.flights.forEach((flight, number) => {
      if (flight.start >= time && time < last) return;
      const name = `${flight.source} ${flight.target}`;
      carried.set(name, { flight, count: (carried.get(name)?.count ?? 0) + 1 });
      const done = (time - flight.start) / (flight.end - flight.start || 1);
      if (done < 1 || (flight.lost && done < 1.001)) busy.add(flight.source);
      if (done >= 1 && !flight.lost) { if (time < last) busy.delete(flight.target); return; }
      if (flight.lost && done > 1.6) return;
      shown.add(number);
      riding.add(name);
      // Copies that fly the same way at the same moment stand above each other.
      const row = rows.get(`${name} ${flight.start}`) ?? 0;
      rows.set(`${name} ${flight.start}`, row + 1);
      place(number, flight, Math.min(done, flight.lost ? 0.5 : 1), row);
    });
    for (const [number, glyph] of glyphs) glyph.style.display = shown.has(number) ? "" : "none";
    trace(carried, riding);
    for (const [name, node] of nodes) {
      node.classList.toggle("busy", busy.has(name));
      const came = data.flights.filter(
        (flight) => flight.target === name && !flight.lost && flight.end <= time).length;
      node.classList.toggle("reached", came > 0);
      node.classList.toggle("wrong", came > (takes.get(name) ?? Infinity));
    }
    current();
    focus.set(time, time >= last);
  }

  function place(number, flight, done, row) {
    if (!glyphs.has(number)) {
      const glyph = packet(flight);
      if (flight.lost) {
        glyph.classList.add("lost");
        glyph.append(svg("text", { class: "p4v-cross", y: 9 }, "✕"), svg("title", {}, flight.lost));
      }
      glyph.dataset.way = `${flight.source} ${flight.target}`;
      // A frame of a host is looked at where it arrives.
      const [router, to] = nodes.get(flight.source).classList.contains("router")
        ? [flight.source, flight.target] : [flight.target, null];
      glyph.addEventListener("click", () => { pause(); focus.choose({ router, to, what: "packet" }); });
      glyphs.set(number, glyph);
      flying.append(glyph);
    }
    const [x, y] = point(flight, done);
    glyphs.get(number).setAttribute("transform", `translate(${x.toFixed(1)} ${(y - row * 21).toFixed(1)})`);
  }

  // Arrows where copies have gone so far, and how many beside them: those that are `riding` now cover
  // more of it.
  function trace(carried, riding) {
    const arrows = [];
    const numbers = [];
    for (const [name, { flight, count }] of carried) {
      const { x, y, ux, uy, begin, end } = way(flight);
      arrows.push(svg("line", {
        class: flight.lost ? "p4v-trail lost" : "p4v-trail", "marker-end": `url(#${tipId})`,
        x1: x + ux * begin, y1: y + uy * begin, x2: x + ux * end, y2: y + uy * end,
      }));
      if (count === 1 && data.size < 17) continue; // no room for what is usual
      const side = flight.source < flight.target ? 1 : -1;
      const there = begin + (end - begin) * 0.4;
      const covered = riding.has(name) && !lift(flight);
      const apart = covered ? (width(flight) * Math.abs(uy) + FRAME * Math.abs(ux)) / 2 + DIGIT : BESIDE;
      numbers.push(svg("text", {
        class: "p4v-count", "data-count": name,
        x: x + ux * there + uy * apart * side, y: y + uy * there - ux * apart * side + 4,
      }, String(count)));
    }
    trails.replaceChildren(...arrows);
    counts.replaceChildren(...numbers);
  }

  function current() {
    let chosen = null;
    data.events.forEach((event, index) => {
      const happened = event.time < time || time >= last;
      log.children[index].hidden = !happened; // what is to come is not given away
      log.children[index].removeAttribute("aria-current");
      if (happened) chosen = log.children[index];
    });
    if (time >= last) say(data.summary, data.ok ? "good" : "bad");
    else say("", "open");
    if (!chosen) return;
    chosen.setAttribute("aria-current", "step");
    log.scrollTop = Math.max(0, chosen.offsetTop - log.clientHeight + chosen.offsetHeight);
  }

  function step(way) {
    pause();
    const ahead = stops.filter((stop) => (way > 0 ? stop > time + 1 : stop < time - 1));
    seek(ahead.length ? (way > 0 ? Math.min(...ahead) : Math.max(...ahead)) : way > 0 ? last : first);
  }

  function toggle() {
    if (running) return pause();
    if (time >= last) seek(first);
    let before = performance.now();
    play.firstChild.data = "❚❚ pause";
    const frame = (now) => {
      seek(time + (Math.min(now - before, SLOWEST_FRAME) / 1000) * speed);
      before = now;
      if (time < last) running = requestAnimationFrame(frame);
      else pause();
    };
    running = requestAnimationFrame(frame);
  }

  function pause() {
    if (running) cancelAnimationFrame(running);
    running = null;
    play.firstChild.data = "▶ play";
  }

  function restart() {
    pause();
    build();
    seek(first);
    toggle();
  }

  model.on("change:data", restart);
  model.on("change:down", links);
  const problem = ({ error }) => { if (error) say(error, "bad"); };
  const unlisten = focus.listen({ chosen: look, sought: (to) => { pause(); seek(to); } });
  model.on("msg:custom", problem);
  el.append(root);
  orphaning(model, root);
  if (model.get("playing") && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
    restart();
  } else {
    build();
    seek(stops[0] ?? last);
  }
  return () => {
    stopAgeing();
    unlisten();
    pause();
    model.off("change:data", restart);
    model.off("change:down", links);
    model.off("msg:custom", problem);
  };
}

export default { render };
