// The editor: CodeMirror and our language server in the worker.

import { basicSetup, EditorView } from "codemirror";
import { Compartment, EditorState } from "@codemirror/state";
import { keymap } from "@codemirror/view";
import { indentWithTab } from "@codemirror/commands";
import { LSPClient, languageServerExtensions } from "@codemirror/lsp-client";
import { p4 } from "./mode.js";

const PATIENCE = 60_000; // milliseconds: the worker answers in turn, and is ended when it takes long

const uri = (path) => `file:///${path}`;

// The language server's side of an editor: messages to the worker, and its answers back, also to a
// lab that has just been left. A worker that had to be ended has no memory of this conversation:
// `lost` is called, and nothing more is expected.
function transport(engine, files, lost) {
  const listeners = new Set();
  return {
    send(text) {
      const message = JSON.parse(text);
      const tell = (answers) => {
        for (const one of answers) for (const hear of listeners) hear(JSON.stringify(one));
      };
      // What is wrong with a program is said where it is sent or checked.
      const nothing = () => {
        lost();
        const result = message.method === "initialize" ? { capabilities: {} } : null;
        if (message.id !== undefined) tell([{ id: message.id, result }]);
      };
      engine.ask({ ask: "lsp", message, files: files() }).then(tell, nothing);
    },
    subscribe: (hear) => listeners.add(hear),
    unsubscribe: () => {},
  };
}

export class Editor {
  // `changed` is called with a path and its text after each change.
  constructor(parent, engine, changed) {
    this.parent = parent;
    this.engine = engine;
    this.changed = changed;
    this.view = null;
    this.client = null;
    this.helps = new Compartment(); // what the language server does for the file that is shown
    this.revive = null; // brings the language server back, once it is lost
  }

  // Another lab: the language server starts anew, with its files.
  begin(files) {
    this.client?.disconnect();
    this.client?.initializing.catch(() => {}); // a lab may be left before it was answered
    const extensions = languageServerExtensions();
    this.client = new LSPClient({ rootUri: uri(""), extensions, timeout: PATIENCE });
    this.client.initializing.catch(() => {});
    const beside = () =>
      Object.fromEntries(Object.entries(files()).map(([path, text]) => [`/${path}`, text]));
    this.revive = null;
    const { client } = this;
    const lost = () => {
      if (client === this.client) this.revive = () => this.begin(files);
    };
    client.connect(transport(this.engine, beside, lost));
  }

  // After a change, which may have been what was needed: a text that has just ended a worker is not
  // given to another one.
  #revived(path) {
    if (!this.revive) return;
    this.revive();
    const { view } = this;
    queueMicrotask(() => view === this.view && view.dispatch({ effects: this.helps.reconfigure(this.#help(path)) }));
  }

  #help(path) {
    return path.endsWith(".p4") ? this.client.plugin(uri(path), "p4") : [];
  }

  // Shows a file.
  open(path, text, editable) {
    this.view?.destroy();
    this.view = new EditorView({
      parent: this.parent,
      doc: text,
      extensions: [
        basicSetup,
        keymap.of([indentWithTab]),
        p4,
        EditorState.readOnly.of(!editable),
        EditorView.contentAttributes.of({ "aria-label": `Text of ${path}` }),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          this.changed(path, update.state.doc.toString());
          this.#revived(path);
        }),
        this.helps.of(this.#help(path)),
      ],
    });
    this.view.scrollDOM.tabIndex = 0; // to scroll by keys
  }

  // Another text of the file that is shown.
  replace(text) {
    const { state } = this.view;
    this.view.dispatch({ changes: { from: 0, to: state.doc.length, insert: text } });
  }

  // Puts the cursor in a line of the file that is shown.
  point(line) {
    const at = this.view.state.doc.line(Math.min(line, this.view.state.doc.lines)).from;
    this.view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at) });
    this.view.focus();
  }
}
