// P4 in JupyterLab: the file type, how files and `%%p4` cells are coloured, and the living network
// (live.js).
//
// JupyterLab loads extensions as containers of webpack's module federation. This one is small enough
// to be written by hand: `init` receives the packages that all extensions share, `get` gives the
// plugins.
(() => {
  const HERE = document.currentScript.src;
  const words = (text) => new Set(text.split(" "));
  const KEYWORDS = words(
    "abstract action actions apply break const continue control default else entries enum exit " +
      "extern for header header_union if in inout key match_kind out package parser priority return " +
      "select state struct switch table this transition type typedef value_set",
  );
  const TYPES = words("bit bool error int list string tuple varbit void");
  const ATOMS = words("true false accept reject _");

  // A mode of CodeMirror: `token` reads one token of a line and names its style.
  const mode = {
    name: "p4",
    startState: () => ({ inComment: false }),
    token(stream, state) {
      if (state.inComment || stream.match("/*")) {
        state.inComment = !stream.match(/^.*?\*\//);
        if (state.inComment) stream.skipToEnd();
        return "comment";
      }
      if (stream.sol() && stream.match("%%p4")) {
        stream.skipToEnd();
        return "meta";
      }
      if (stream.sol() && stream.match(/^\s*#\s*[a-z]+/)) return "meta";
      if (stream.eatSpace()) return null;
      if (stream.match("//")) {
        stream.skipToEnd();
        return "comment";
      }
      if (stream.match(/^"(?:\\.|[^"\\])*"?/)) return "string";
      if (stream.match(/^[0-9][0-9A-Za-z_]*/)) return "number";
      if (stream.match(/^@[A-Za-z_][A-Za-z0-9_]*/)) return "meta";
      if (stream.match(/^[A-Za-z_][A-Za-z0-9_]*/)) {
        const word = stream.current();
        if (TYPES.has(word)) return "typeName";
        if (KEYWORDS.has(word)) return "keyword";
        if (ATOMS.has(word)) return "atom";
        return "variableName";
      }
      if (stream.match(/^[-+*/%&|^~!<>=?]+/)) return "operator";
      stream.next();
      return null;
    },
    languageData: {
      commentTokens: { line: "//", block: { open: "/*", close: "*/" } },
      closeBrackets: { brackets: ["(", "[", "{", '"'] },
    },
  };

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

  const plugin = (codemirror, language, notebook) => ({
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
      const { live } = await import(new URL("live.js", HERE));
      const plugins = [plugin(codemirror, language, notebook), live({ coreutils, widgets })];
      const exports = { __esModule: true, default: plugins };
      return () => exports;
    },
  };
  window._JUPYTERLAB = window._JUPYTERLAB ?? {};
  window._JUPYTERLAB.p4lab = container;
})();
