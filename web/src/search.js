// The search: every section of the documentation, in this browser alone.

import MiniSearch from "minisearch";
import { make } from "./page.js";

const MOST = 30; // results
const AROUND = 90; // characters of text on each side of the first word that was found

const options = {
  fields: ["title", "page", "text"],
  searchOptions: { boost: { title: 4, page: 2 }, prefix: true, fuzzy: 0.15, combineWith: "AND" },
};

function excerpt(text, terms) {
  const places = terms.map((term) => text.toLowerCase().indexOf(term)).filter((at) => at >= 0);
  if (!places.length) return [text.slice(0, 2 * AROUND)];
  const at = Math.min(...places);
  const term = terms.find((one) => text.toLowerCase().startsWith(one, at));
  const end = at + term.length;
  return [text.slice(Math.max(0, at - AROUND), at), make("mark", {}, text.slice(at, end)), text.slice(end, end + AROUND)];
}

// Shows what is found in an element, now and as the reader goes on typing.
export async function begin(place) {
  const sections = await (await fetch(new URL("book/search.json", import.meta.url))).json();
  const index = new MiniSearch(options);
  index.addAll(sections.map(([, page, title, text], id) => ({ id, page, title, text })));
  const input = document.querySelector("input[type=search]");
  input.value = new URLSearchParams(location.search).get("q") ?? "";

  const show = () => {
    const found = index.search(input.value).slice(0, MOST);
    const items = found.map(({ id, terms }) => {
      const [address, page, title, text] = sections[id];
      const name = title && title !== page ? `${page}: ${title}` : page;
      const link = make("a", { href: new URL(`book/${address}`, import.meta.url) }, name);
      return make("li", {}, link, make("p", {}, ...excerpt(text, terms)));
    });
    const count = input.value ? `${items.length || "Nothing"} found for “${input.value}”.` : "";
    place.replaceChildren(make("p", { role: "status" }, count), make("ul", { class: "found" }, ...items));
  };
  input.addEventListener("input", show);
  show();
  input.focus();
}
