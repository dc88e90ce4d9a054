// P4 in JupyterLab: the file type, how files and `%%p4` cells are coloured (p4.js), the living
// network, what links ask for, and views whose kernel has ended (live.js).
//
// JupyterLab loads extensions as containers of webpack's module federation. This one is small enough
// to be written by hand: `init` receives the packages that all extensions share, `get` gives the
// plugins.
(() => {
  const HERE = document.currentScript.src;

  // A package of JupyterLab's own; every version that is there is the one that runs.
  const shared = async (scope, name) => {
    const [version] = Object.values(scope[name] ?? {});
    if (!version) throw new Error(`p4lab: this JupyterLab does not share ${name}`);
    return (await version.get())();
  };

  const MIME = "text/x-p4";

  // Cells that begin with %%p4 are P4, as soon as they do and as long as they do.
  const mind = (panel) => {
    const cells = panel.context.model.cells;
    const minded = new WeakSet();
    const look = (cell) => {
      const isP4 = /^%%p4\b/.test(cell.sharedModel.getSource());
      if (isP4 && cell.mimeType !== MIME) cell.mimeType = MIME;
      if (!isP4 && cell.mimeType === MIME) cell.mimeType = panel.content.codeMimetype;
    };
    const all = () => {
      for (const cell of cells) {
        if (cell.type !== "code" || minded.has(cell)) continue;
        minded.add(cell);
        cell.contentChanged.connect(() => look(cell));
        // The notebook gives every cell its kernel's language once it knows it.
        cell.mimeTypeChanged.connect(() => look(cell));
        look(cell);
      }
    };
    cells.changed.connect(all);
    all();
  };

  const plugin = (mode, codemirror, language, notebook) => ({
    id: "p4lab:language",
    description: "File type and highlighting of P4 programs and %%p4 cells.",
    autoStart: true,
    requires: [codemirror.IEditorLanguageRegistry],
    optional: [notebook.INotebookTracker],
    activate: (app, languages, notebooks) => {
      notebooks?.forEach((panel) => panel.context.ready.then(() => mind(panel)));
      notebooks?.widgetAdded.connect((_, panel) => panel.context.ready.then(() => mind(panel)));
      const support = new language.LanguageSupport(language.StreamLanguage.define(mode));
      languages.addLanguage({
        name: "p4",
        displayName: "P4",
        mime: [MIME],
        extensions: ["p4"],
        support,
      });
      app.docRegistry.addFileType({
        name: "p4",
        displayName: "P4 program",
        extensions: [".p4"],
        mimeTypes: [MIME],
        contentType: "file",
        fileFormat: "text",
      });
    },
  });

  let scope = {};
  const container = {
    init: (packages) => {
      scope = packages;
    },
    get: async (name) => {
      if (name !== "./extension") throw new Error(`p4lab: there is no module ${name}`);
      const codemirror = await shared(scope, "@jupyterlab/codemirror");
      const language = await shared(scope, "@codemirror/language");
      const notebook = await shared(scope, "@jupyterlab/notebook");
      const coreutils = await shared(scope, "@jupyterlab/coreutils");
      const widgets = await shared(scope, "@lumino/widgets");
      const { mode } = await import(new URL("p4.js", HERE));
      const { asked, live, orphaned } = await import(new URL("live.js", HERE));
      const own = plugin(mode, codemirror, language, notebook);
      const plugins = [own, live({ coreutils, widgets }), asked, orphaned];
      const exports = { __esModule: true, default: plugins };
      return () => exports;
    },
  };
  window._JUPYTERLAB = window._JUPYTERLAB ?? {};
  window._JUPYTERLAB.p4lab = container;
})();
