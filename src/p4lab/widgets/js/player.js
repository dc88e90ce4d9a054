import { button, coloured, ends, html, keys, playing } from "./common.js";

const AROUND = 5; // lines of source shown before and after the one of a step
const MOST_CELLS = 32; // longer sets are named by their members alone
const PACE = 900; // milliseconds a step

// A failed check as a film: expected above got, up to where they part. `show` takes the film.
export function player() {
  let film, at, width;

  const title = html("b", {});
  const said = html("ol", {});
  const before = html("details", {}, html("summary", {}, "What was done"), said);
  const back = button("◀ step", "One step back (arrow left)", () => go(at - 1));
  const next = button("step ▶", "One step on (arrow right)", () => go(at + 1), { class: "p4v-next" });
  const { play, stop, toggle } = playing("Play up to where it goes wrong (space)", PACE, { at: () => at, last: () => film.frames.length - 2, go });
  const slider = html("input", { type: "range", min: 0, step: 1, "aria-label": "Step", oninput: () => { stop(); go(Number(slider.value)); } });
  const place = html("span", { class: "p4v-clock" });
  const told = html("p", { class: "p4v-said", role: "status", "aria-live": "polite" });
  const table = html("div", { class: "p4v-scroll p4v-film-rows", tabindex: 0, role: "region", "aria-label": "What is known at this step" });
  const source = html("div", { class: "p4v-source" });
  const bar = html("div", { class: "p4v-bar" }, play, back, next, slider, place);
  const columns = html("div", { class: "p4v-columns" }, html("div", { class: "p4v-left" }, told, table), source);
  const missing = html("p", { role: "status" });
  const root = html(
    "div", { class: "p4v-film", role: "group", "aria-label": "The failed check, step by step", tabindex: 0 },
    title, before, missing, bar, columns,
  );
  keys(root, {
    ArrowLeft: () => go(at - 1), ArrowRight: () => go(at + 1), " ": toggle,
    Home: () => go(0), End: () => go(film.frames.length - 1),
  });

  function show(given) {
    stop();
    film = given;
    title.textContent = film.title;
    missing.textContent = film.missing;
    missing.style.display = film.missing ? "" : "none";
    for (const part of [before, bar, columns]) part.style.display = film.missing ? "none" : "";
    if (film.missing) return;
    said.replaceChildren(...film.said.map((step) => html("li", {}, step)));
    const bits = film.frames.flatMap((frame) => frame.rows.flatMap((row) => [row.expected_bits, row.got_bits]));
    width = Math.max(0, ...bits.map((text) => text.length));
    slider.max = film.frames.length - 1;
    go(0);
  }

  function go(to) {
    at = Math.min(film.frames.length - 1, Math.max(0, to));
    const frame = film.frames[at];
    slider.value = at;
    slider.setAttribute("aria-valuetext", `step ${at + 1} of ${film.frames.length}`);
    ends(back, at === 0);
    ends(next, at === film.frames.length - 1);
    place.textContent = `${at + 1} / ${film.frames.length}`;
    const wrong = at === film.frames.length - 2 && film.why ? ` Here it goes wrong. ${film.why}` : "";
    told.replaceChildren(html("span", { class: "p4v-name" }, `${frame.where}: `), frame.text, wrong ? html("strong", { class: "p4v-wrong" }, wrong) : "");
    drawRows(frame);
    drawSource(frame);
  }

  // Expected above got, always two lines, so that nothing moves from step to step.
  function drawRows(frame) {
    const cells = width > 0 && width <= MOST_CELLS ? width : 0;
    const numbers = Array.from({ length: cells }, (_, index) => cells - index);
    const head = html("tr", {}, html("td"), html("td"), numbers.map((number) => html("th", { scope: "col", "aria-hidden": "true" }, String(number))));
    const rows = frame.rows.flatMap((row) => {
      const differs = row.expected !== row.got;
      const name = html("th", { scope: "rowgroup", rowspan: 2 }, row.label);
      return [["expected", row.expected, row.expected_bits, name], ["got", row.got, row.got_bits, null]].map(([side, text, bits, first]) =>
        html("tr", { class: `${side}${differs ? " differs" : ""}`, "data-row": row.name, "data-side": side },
          first, html("th", { scope: "row" }, side, html("i", { "aria-hidden": "true" }, differs ? (side === "got" ? "✗" : "✓") : "")),
          drawBits(cells, bits), html("td", bits && cells ? { class: "drawn" } : { class: "words", colspan: cells || 1 }, text || "–")));
    });
    table.replaceChildren(html("table", { "aria-label": `Step ${at + 1}, ${frame.where}` }, html("tbody", {}, cells ? head : null, rows)));
  }

  function drawBits(cells, bits) {
    if (!bits || !cells) return null;
    return [...bits.padStart(cells, "0")].map((bit) => html("td", { class: `bit ${bit === "1" ? "on" : ""}`, "aria-hidden": "true" }, bit));
  }

  function drawSource(frame) {
    const lines = frame.place && film.sources[frame.place.file];
    source.classList.toggle("stale", !lines);
    if (!lines) return;
    const here = frame.place.line;
    const shown = [];
    for (let line = Math.max(1, here - AROUND); line <= Math.min(lines.length, here + AROUND); line++) {
      shown.push(html("div", { class: line === here ? "here" : "", "aria-current": line === here && "true" },
        html("i", {}, String(line)), html("code", {}, coloured(lines[line - 1]))));
    }
    const code = html("div", { class: "p4v-code", tabindex: 0, role: "region", "aria-label": "Source" }, shown);
    source.replaceChildren(html("b", {}, `${frame.place.file}, line ${here}`), code);
  }

  return { root, show, stop };
}
