// The student's P4 file on the left and the living network on the right, as soon as JupyterLab is there,
// and in front what a link asked for.
//
// `./lab notebook` names the lab and its files (p4lab.notebook.server); any other JupyterLab has no network
// beside. The network's view comes from a kernel of its own: no cell of a notebook can hold it up.

const RESTART_MILLISECONDS = 3000;
const VIEW = "application/vnd.jupyter.widget-view+json";

// A view's model as its script expects it: the kernel's side of a widget, spoken to over a comm.
class Model {
  constructor(comm, state, widgets) {
    this.comm = comm;
    this.state = state;
    this.widget_manager = widgets;
    this.listeners = new Map();
    this.changed = {};
    comm.onMsg = ({ content: { data } }) => this.receive(data);
  }

  get(name) {
    return this.state[name];
  }

  set(name, value) {
    if (JSON.stringify(this.state[name]) === JSON.stringify(value)) return;
    this.state[name] = value;
    this.changed[name] = value;
    this.tell(`change:${name}`);
  }

  save_changes() {
    const state = this.changed;
    this.changed = {};
    if (Object.keys(state).length) this.post({ method: "update", state, buffer_paths: [] });
  }

  send(content) {
    this.post({ method: "custom", content });
  }

  // A kernel that has ended hears nothing any more.
  post(message) {
    if (!this.comm.isDisposed) this.comm.send(message);
  }

  on(names, listener) {
    for (const name of names.split(" ")) {
      if (!this.listeners.has(name)) this.listeners.set(name, new Set());
      this.listeners.get(name).add(listener);
    }
  }

  off(names, listener) {
    for (const name of names.split(" ")) this.listeners.get(name)?.delete(listener);
  }

  tell(name, ...values) {
    for (const listener of [...(this.listeners.get(name) ?? [])]) listener(...values);
  }

  receive({ method, state, content }) {
    if (method === "custom") this.tell("msg:custom", content);
    if (method !== "update") return;
    Object.assign(this.state, state);
    for (const name of Object.keys(state)) this.tell(`change:${name}`);
  }
}

// All models of a kernel, by the number of their comm.
class Models {
  constructor() {
    this.known = new Map();
    this.waiting = new Map();
  }

  add(comm, state) {
    const model = new Model(comm, state, this);
    this.known.set(comm.commId, model);
    this.waiting.get(comm.commId)?.(model);
  }

  async get_model(id) {
    return this.known.get(id) ?? new Promise((resolve) => this.waiting.set(id, resolve));
  }
}

// Calls `tell` with the file that is in front, now and whenever that is another one.
function inFront(app, tell) {
  const look = (_, { newValue }) => { if (newValue?.context?.path) tell(newValue.context.path); };
  app.shell.currentChanged.connect(look);
  look(null, { newValue: app.shell.currentWidget });
  return () => app.shell.currentChanged.disconnect(look);
}

// Draws the network of a lab into an element; gives what ends that.
async function draw(app, { lab, session: path }, node, say) {
  const sessions = app.serviceManager.sessions;
  await sessions.ready;
  await sessions.refreshRunning();
  const running = [...sessions.running()].find((one) => one.path === path);
  const session = running
    ? sessions.connectTo({ model: running })
    : await sessions.startNew({ path, name: `network of ${lab}`, type: "p4lab", kernel: { name: "python3" } });
  const models = new Models();
  let stop = () => {};
  let restarting = false;
  const show = async (id) => {
    restarting = false;
    const model = await models.get_model(id);
    const url = URL.createObjectURL(new Blob([model.get("_esm")], { type: "text/javascript" }));
    const view = (await import(url)).default;
    URL.revokeObjectURL(url);
    stop();
    const style = document.createElement("style");
    style.textContent = model.get("_css");
    node.replaceChildren(style);
    const stops = [await view.render({ model, el: node }), inFront(app, (editing) => model.send({ editing }))];
    stop = () => stops.forEach((one) => one?.());
  };
  const ask = () => {
    const { kernel } = session;
    kernel.registerCommTarget("jupyter.widget", (comm, { content }) => models.add(comm, content.data.state));
    const code = `from p4lab.notebook.live import show; show(${JSON.stringify(lab)})`;
    const asked = kernel.requestExecute({ code, store_history: false });
    asked.onIOPub = ({ header, content }) => {
      const view = header.msg_type === "display_data" && content.data[VIEW];
      if (view) show(view.model_id);
      if (header.msg_type === "error") say(`${content.ename}: ${content.evalue}`);
    };
  };
  // What is asked of a kernel in the middle of its restart may be lost, so it is asked again.
  const askUntilShown = () => {
    if (!restarting) return;
    ask();
    setTimeout(askUntilShown, RESTART_MILLISECONDS);
  };
  session.statusChanged.connect((_, status) => {
    if (status === "restarting" || status === "autorestarting") {
      if (!restarting) setTimeout(askUntilShown, RESTART_MILLISECONDS);
      restarting = true;
      say("The network begins again …");
    }
    if (status === "dead") say("The network has ended: close this tab, and load the page again.");
  });
  session.kernelChanged.connect(() => ask());
  ask();
  return () => {
    stop();
    session.dispose();
  };
}

// `layout` has the lab, the title of its pane, the path of the pane's session, and the files to open, as JupyterLab names
// them: `edit` on the left and in front, `beside` in tabs with it.
async function arrange(app, { Widget }, layout) {
  const node = document.createElement("div");
  node.className = "p4lab-live";
  Object.assign(node.style, { overflow: "auto", background: "var(--jp-layout-color1)" });
  const panel = new Widget({ node });
  panel.id = "p4lab-live";
  panel.title.label = layout.title;
  panel.title.closable = true;
  const say = (text) => {
    const line = document.createElement("p");
    line.setAttribute("role", "status");
    line.style.padding = "8px 12px";
    line.textContent = text;
    node.replaceChildren(line);
  };
  say("The network starts …");
  const drawn = draw(app, layout, node, say);
  drawn.catch((error) => say(`The network does not start: ${error}`));
  panel.disposed.connect(() => drawn.then((stop) => stop()));
  await app.restored;
  if ([...app.shell.widgets("main")].every(({ context }) => !context)) app.shell.collapseLeft?.(); // once
  const open = (path, factory) => app.commands.execute("docmanager:open", { path, ...(factory ? { factory } : {}) });
  const editor = layout.edit ? await open(layout.edit, "Editor") : null;
  app.shell.add(panel, "main", { mode: "split-right", ...(editor ? { ref: editor.id } : {}) });
  for (const path of layout.beside) {
    await app.commands.execute("docmanager:open", {
      path, options: { mode: "tab-after", ...(editor ? { ref: editor.id } : {}), activate: false },
    });
  }
  if (editor) app.shell.activateById(editor.id);
}

export const live = ({ coreutils, widgets }) => ({
  id: "p4lab:live",
  description: "The student's P4 file beside the living network.",
  autoStart: true,
  activate: (app) => {
    const layout = JSON.parse(coreutils.PageConfig.getOption("p4lab") || "null");
    if (layout) arrange(app, widgets, layout);
  },
});

// Instead of what JupyterLab says of a view whose kernel has ended, which helps nobody.
const ORPHANED = "Error displaying widget: model not found";
const RUN_AGAIN = "Run this cell again, after those above it (Run > Run All Above Selected Cell).";

export const orphaned = {
  id: "p4lab:orphaned",
  description: "Says what to do about views whose kernel has ended.",
  autoStart: true,
  activate: () => {
    const mend = (node) => { if (node?.data === ORPHANED) node.data = RUN_AGAIN; };
    new MutationObserver((changes) => {
      for (const added of changes.flatMap(({ addedNodes }) => [...addedNodes])) {
        mend(added);
        // A cell that was out of sight comes back as a whole.
        for (const view of added.querySelectorAll?.(".jupyter-widgets") ?? []) mend(view.firstChild);
      }
    }).observe(document.body, { childList: true, subtree: true });
  },
};

// JupyterLite opens the document of `?path=` while the tabs of the last visit still come back, and
// whichever is last is in front. Who follows a link wants what it names.
export const asked = {
  id: "p4lab:asked",
  description: "Brings the document that a link asked for to the front.",
  autoStart: true,
  activate: (app) => {
    const path = new URLSearchParams(location.search).getAll("path").pop();
    if (path) app.restored.then(() => app.commands.execute("docmanager:open", { path }));
  },
};
