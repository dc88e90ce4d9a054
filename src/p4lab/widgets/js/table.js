import { box, button, html, orphaning } from "./common.js";

function render({ model, el }) {
  let data;

  const title = html("b", {});
  const said = html("p", { class: "p4v-verdict", role: "status", "aria-live": "polite" });
  const marks = html("p", { class: "p4v-hits" });
  const table = html("table", {});
  const around = html("div", { class: "p4v-scroll" }, table);
  const add = button("+ add a row", "Add a row to the running switch", () => adding());
  const root = box("p4v-table", "A table of a running switch",
    html("div", { class: "p4v-bar" }, title, add), marks, around, said);

  function build() {
    data = model.get("data");
    const focus = document.activeElement?.closest?.("tr")?.dataset.handle;
    const field = document.activeElement?.name;
    title.textContent = data.title;
    marks.textContent = data.marks;
    marks.hidden = !data.marks;
    table.setAttribute("aria-label", data.title);
    table.style.setProperty("--columns", data.keys.length + (data.priorities ? 1 : 0) + 1);
    table.replaceChildren(head(), html("tbody", {}, data.rows.map((row) => line(row))));
    fold();
    if (focus && root.isConnected) table.querySelector(`tr[data-handle="${focus}"] [name="${field}"]`)?.focus();
  }

  // A row in which not everything has room takes a line more for its parameters, or as many lines
  // as it needs: nothing is hidden behind an edge.
  function fold() {
    for (const name of ["", "folded", "long"]) {
      table.className = name;
      if (table.scrollWidth <= around.clientWidth) return;
    }
  }

  // Fields of one name are equally wide in all rows, so that values stand one below the other.
  const widest = (texts) => Math.max(3, ...texts.map((text) => (text ?? "").length + 1));

  function head() {
    const names = [
      ...data.keys.map((key) => html("th", { scope: "col" }, key.name, html("i", {}, key.kind))),
      data.priorities && html("th", { scope: "col" }, "priority"),
      html("th", { scope: "col" }, "action"), html("th", { scope: "col", class: "p4v-args" }, "parameters"), html("td"),
    ];
    return html("thead", {}, html("tr", {}, names.filter(Boolean)));
  }

  // A row with a text field for each value. Leaving a field, or Enter, sends it to the switch.
  function line(row) {
    const fresh = row.handle === null;
    const input = (name, value, label, wide) => html("input", {
      name, value, "aria-label": label, spellcheck: "false", style: `width: calc(${Math.min(40, wide)}ch + 12px)`,
      onkeydown: (event) => {
        if (event.key === "Enter") { event.preventDefault(); fresh ? send("add") : event.target.blur(); }
        if (event.key === "Escape") { event.target.value = value; event.target.blur(); }
      },
      onchange: () => { if (!fresh) send("set"); },
    });
    const keys = data.keys.map((key, index) => html("td", { "data-head": key.name },
      input(`key:${key.name}`, row.keys[index], `key ${key.name}`, widest([...data.rows.map((one) => one.keys[index]), row.keys[index]]))));
    const priority = data.priorities
      ? html("td", { "data-head": "priority" }, input("priority", row.priority, "priority", widest(data.rows.map((one) => one.priority))))
      : null;
    const action = html("select", { name: "action", "aria-label": "action", onchange: () => {
      params(action.value, {});
      fold();
      if (!fresh && !data.actions[action.value].params.length) send("set");
    } });
    for (const [name, { label }] of Object.entries(data.actions)) {
      action.append(html("option", { value: name, selected: name === row.action }, label));
    }
    const args = html("td", { class: "p4v-args" });
    const params = (name, values) => {
      const names = data.actions[name]?.params ?? [];
      args.replaceChildren(...names.map((param) => html("label", {}, `${param} = `, input(
        `arg:${param}`, values[param] ?? "", param, widest([...data.rows.map((one) => one.args[param]), values[param]])))));
    };
    params(row.action, row.args);
    const buttons = fresh
      ? [button("write", "Write this row into the switch", () => send("add")), button("✕", "Do not add it", build)]
      : [button("delete", "Delete this row from the switch", () => send("delete"), { class: "p4v-delete" })];
    const line = html("tr", { "data-handle": fresh ? "new" : row.handle, class: row.met ? "met" : "" },
      keys, priority, html("td", {}, action), args,
      html("td", { class: "p4v-act" }, row.met ? html("span", { title: data.marks }, `● ${row.met}`) : null, buttons));

    function send(what) {
      const values = {};
      for (const one of line.querySelectorAll("input")) values[one.name] = one.value;
      model.send({
        do: what, handle: row.handle, action: action.value, priority: values.priority ?? "0",
        keys: data.keys.map((key) => values[`key:${key.name}`]),
        args: Object.fromEntries(data.actions[action.value].params.map((param) => [param, values[`arg:${param}`] ?? ""])),
      });
    }
    return line;
  }

  function adding() {
    const like = data.rows[0];
    const action = like?.action ?? Object.keys(data.actions)[0];
    const row = line({
      handle: null, keys: data.keys.map((_, index) => like?.keys[index] ?? ""), met: 0,
      priority: like?.priority ?? "1", action, args: like?.args ?? {},
    });
    table.tBodies[0].prepend(row);
    fold();
    row.querySelector("input")?.focus();
  }

  function outcome() {
    const { ok, text } = model.get("message") ?? {};
    said.textContent = text ?? "";
    said.hidden = !text;
    said.classList.toggle("bad", ok === false);
    // What the switch has refused is not what it has; a row that is being added may be corrected.
    if (ok === false && !table.querySelector('[data-handle="new"]')) build();
  }

  model.on("change:data", build);
  model.on("change:message", outcome);
  el.append(root);
  orphaning(model, root);
  build();
  outcome();
  const sizes = new ResizeObserver(fold);
  sizes.observe(root);
  return () => {
    sizes.disconnect();
    model.off("change:data", build);
    model.off("change:message", outcome);
  };
}

export default { render };
