// Elements: small helpers, so that no text of a student's is ever read as HTML.

// An element with attributes and children, which are elements or text.
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

export const find = (id) => document.getElementById(id);

// Shows something in the place of what is there.
export const show = (id, ...children) => find(id).replaceChildren(...children);
