// What became of a packet: one entry for each switch that it came to, step by step.

import { make } from "./page.js";

// What is drawn at most of a packet that goes around for long; a browser would stand still over all.
const ARRIVALS = 200;
const PACKETS = 50; // of an arrival
const STEPS = 500; // of a packet

// The first of many things, drawn, and how many more there are.
function first(most, things, draw, more) {
  const drawn = things.slice(0, most).map(draw);
  return things.length > most ? [...drawn, more(`… and ${things.length - most} more`)] : drawn;
}

const place = (item) => (item.line ? `${item.file.split("/").at(-1)}:${item.line}` : "");

function fate(packet) {
  const { fate } = packet;
  if (fate === null) return "lost; the trace does not say why";
  if (fate.kind === "sent") return `sent on port ${fate.port}, ${fate.data.length / 2} bytes`;
  if (fate.kind === "dropped") return `dropped: ${fate.reason} ${place(fate)}`;
  if (fate.kind === "replicated") {
    return `replicated to group ${fate.group} as packets ${fate.ids.join(", ")}`;
  }
  return `goes on as packet ${fate.id}`;
}

// `point` is called with a file and a line where a step is chosen.
function step(item, point) {
  const where = item.line
    ? make("button", { class: "place", onclick: () => point(item.file, item.line) }, place(item))
    : null;
  return make("li", {}, item.text, " ", where);
}

function packetOf(packet, point) {
  const again = packet.pass ? `, pass ${packet.pass + 1}` : "";
  return make(
    "section",
    { class: "packet" },
    make("h4", {}, `packet ${packet.id} (${packet.kind}${again})`),
    make("ol", {}, ...first(STEPS, packet.steps, (item) => step(item, point), (text) => make("li", {}, text))),
    make("p", { class: `fate ${packet.fate?.kind ?? "lost"}` }, fate(packet)),
  );
}

// The arrivals of a scene (p4-wasm's answer) as elements.
export function traceOf(arrivals, point) {
  if (!arrivals.length) return [make("p", {}, "The packet reached no switch.")];
  const paragraph = (text) => make("p", {}, text);
  const hop = (arrival, index) =>
    make(
      "details",
      { class: "hop", open: index === 0 },
      make("summary", {}, `${arrival.switch}, port ${arrival.port}, ${arrival.time / 1e6} µs`),
      make("pre", { class: "bytes" }, arrival.data.replace(/(..)/g, "$1 ").trim()),
      ...first(PACKETS, arrival.packets, (packet) => packetOf(packet, point), paragraph),
    );
  return first(ARRIVALS, arrivals, hop, paragraph);
}
