// What the compiler says, with its codes as links to their pages.

import { make } from "./page.js";

const CODE = /\b([EW]\d{4})\b(?!\.p4)/;
const pages = new URL("book/docs/errors/", import.meta.url);

// A text as elements.
export const withCodes = (text) =>
  text.split(CODE).map((part, at) => (at % 2 ? make("a", { href: new URL(`${part}.html`, pages) }, part) : part));
