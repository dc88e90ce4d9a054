// P4 files in JupyterLab: their file type, and how their text is coloured.
//
// JupyterLab loads extensions as containers of webpack's module federation. This one is small enough
// to be written by hand: `init` receives the packages that all extensions share, `get` gives the
// plugin.
(() => {
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

  const plugin = (codemirror, language) => ({
    id: "p4lab:language",
    description: "File type and highlighting of P4 programs.",
    autoStart: true,
    requires: [codemirror.IEditorLanguageRegistry],
    activate: (app, languages) => {
      const support = new language.LanguageSupport(language.StreamLanguage.define(mode));
      languages.addLanguage({
        name: "p4",
        displayName: "P4",
        mime: ["text/x-p4"],
        extensions: ["p4"],
        support,
      });
      app.docRegistry.addFileType({
        name: "p4",
        displayName: "P4 program",
        extensions: [".p4"],
        mimeTypes: ["text/x-p4"],
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
      const exports = { __esModule: true, default: plugin(codemirror, language) };
      return () => exports;
    },
  };
  window._JUPYTERLAB = window._JUPYTERLAB ?? {};
  window._JUPYTERLAB.p4lab = container;
})();
