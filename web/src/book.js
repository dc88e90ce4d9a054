// A page of the documentation: P4 in colours, blocks of it that can be tried, and the search.

import "./theme.js";
import { coloured } from "../../src/p4lab/widgets/js/common.js";
import { make } from "./page.js";

// The script of an editor is loaded where somebody wants one.
async function tryOut(place, button) {
  button.disabled = true;
  const { Snippet } = await import("./snippet.js");
  const snippet = new Snippet(place);
  button.remove();
  await snippet.compile();
}

for (const code of document.querySelectorAll("code.language-p4")) {
  const lines = code.textContent.split("\n");
  code.replaceChildren(...lines.flatMap((line, index) => [index ? "\n" : "", ...coloured(line)]));
  code.parentElement.classList.add("p4v-coloured");
}
for (const place of document.querySelectorAll(".live")) {
  const button = make("button", { class: "try", onclick: () => tryOut(place, button) }, "Edit and run");
  place.append(button);
}
const found = document.getElementById("found");
if (found) import("./search.js").then(({ begin }) => begin(found));
