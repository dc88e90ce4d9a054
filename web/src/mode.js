// P4 for CodeMirror: JupyterLab's mode, in the colours of style.css.

import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { tags } from "@lezer/highlight";
import { mode } from "../../editors/jupyterlab/data/share/jupyter/labextensions/p4lab/static/p4.js";

const colour = (tag, name) => ({ tag, color: `var(--${name})` });

const colours = HighlightStyle.define([
  colour(tags.comment, "comment"),
  colour([tags.keyword, tags.atom, tags.bool], "keyword"),
  colour(tags.string, "string"),
  colour(tags.number, "number"),
  colour(tags.meta, "meta"),
  colour([tags.typeName, tags.standard(tags.typeName)], "type"),
]);

export const p4 = [StreamLanguage.define(mode), syntaxHighlighting(colours)];
