// How P4 is coloured, in JupyterLab and in the lab as a page (web/).

const words = (text) => new Set(text.split(" "));
const KEYWORDS = words(
  "abstract action actions apply break const continue control default else entries enum exit " +
    "extern for header header_union if in inout key match_kind out package parser priority return " +
    "select state struct switch table this transition type typedef value_set",
);
const TYPES = words("bit bool error int list string tuple varbit void");
const ATOMS = words("true false accept reject _");

// A mode of CodeMirror: `token` reads one token of a line and names its style.
export const mode = {
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
