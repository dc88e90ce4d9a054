import { box, button, html, orphaning } from "./common.js";

const COLUMNS = [["got", "got"], ["lost", "lost"], ["twice", "twice"]];

function render({ model, el }) {
  const title = html("b", { role: "status", "aria-live": "polite" });
  const send = button("", "", () => model.send({ do: "send" }), { class: "p4v-send" });
  const reset = button("count from 0", "count from 0: forget what was counted", () => model.send({ do: "reset" }));
  const body = html("tbody", {});
  const head = html("tr", {}, html("th", { scope: "col" }, "host"),
    COLUMNS.map(([, label]) => html("th", { scope: "col" }, label, html("i", {}, "packets"))));
  const table = html("div", { class: "p4v-scroll", tabindex: 0, role: "region", "aria-label": "Lost packets by host" },
    html("table", { class: "p4v-losses", "aria-label": "Packets by host" }, html("thead", {}, head), body));
  const root = box("p4v-losscounter", "Lost packets", title, html("div", { class: "p4v-bar" }, send, reset), table);

  function draw() {
    const { title: said, packets, rows } = model.get("data");
    title.textContent = said;
    send.textContent = `send ${packets} packets`;
    send.setAttribute("aria-label", `send ${packets} packets`);
    send.title = "Send more of this stream";
    body.replaceChildren(...rows.map((row) => html("tr", { "data-host": row.host },
      html("th", { scope: "row" }, row.host),
      COLUMNS.map(([name]) => html("td", { "data-count": name, class: name !== "got" && row[name] ? "bad" : "" }, String(row[name]))))));
  }

  model.on("change:data", draw);
  el.append(root);
  orphaning(model, root);
  draw();
  return () => model.off("change:data", draw);
}

export default { render };
