// The network of a scene, with the links that a packet and its copies took.

const NS = "http://www.w3.org/2000/svg";

function svg(tag, attributes, ...children) {
  const element = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// How many frames went from node to node, by "FROM TO". What a host sends or gets is seen at the
// switch beside it.
function carried(scene, arrivals) {
  const behind = {}; // a switch and its port lead to a node
  for (const { a, b } of scene.links) {
    behind[a] = b[0];
    behind[b] = a[0];
  }
  const switches = new Set(scene.switches.map(({ name }) => name));
  const counts = {};
  const count = (from, to) => (counts[`${from} ${to}`] = (counts[`${from} ${to}`] ?? 0) + 1);
  for (const arrival of arrivals) {
    const from = behind[[arrival.switch, arrival.port]];
    if (from) count(from, arrival.switch);
    for (const { fate } of arrival.packets) {
      const to = fate?.kind === "sent" && behind[[arrival.switch, fate.port]];
      if (to && !switches.has(to)) count(arrival.switch, to);
    }
  }
  return counts;
}

// A picture of the scene; without arrivals nothing is on the links.
export function networkOf(scene, arrivals = []) {
  const { nodes, width, height, size } = scene.picture;
  const counts = carried(scene, arrivals);
  const hosts = new Set(scene.hosts.map(({ name }) => name));
  const lines = scene.links.map(({ a: [a], b: [b] }) => {
    const [[x1, y1], [x2, y2]] = [nodes[a], nodes[b]];
    const told = [`${a} ${b}`, `${b} ${a}`].filter((way) => counts[way]);
    const text = told.map((way) => `${way.replace(" ", " → ")}: ${counts[way]}`).join(", ");
    const kind = told.length ? "link taken" : "link";
    return svg("line", { class: kind, x1, y1, x2, y2 }, svg("title", {}, text || `${a} – ${b}`));
  });
  const circles = Object.entries(nodes).map(([name, [x, y]]) =>
    svg(
      "g",
      { class: hosts.has(name) ? "host" : "switch" },
      svg("circle", { cx: x, cy: y, r: size }),
      svg("text", { x, y: y + 4 }, name),
    ),
  );
  const told = Object.entries(counts).map(([way, count]) => `${way.replace(" ", " to ")}: ${count}`);
  const label = told.length ? `Frames on the links: ${told.join(", ")}` : "The network";
  const all = { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label };
  return svg("svg", all, ...lines, ...circles);
}
