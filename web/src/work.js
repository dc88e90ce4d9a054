// A lab, and what a student has made of it, which this browser keeps.

const key = (lab, path) => `p4lab/${lab}/${path}`;

const MEMORY = "?"; // no file has this name

// What this browser keeps under a key; null if that is nothing, or it keeps nothing at all.
export function kept(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

// Keeps a text, or with null no more. Gives whether that was possible.
export function keep(key, text) {
  try {
    if (text === null) localStorage.removeItem(key);
    else localStorage.setItem(key, text);
    return true;
  } catch {
    return false;
  }
}

export class Work {
  // `lab` is a file of `labs/`; `given` are texts by path that a link has brought.
  // Those are not kept, so that they replace nothing, and what is kept here is not mixed with them.
  constructor(lab, given) {
    this.lab = lab;
    this.keeps = given === undefined;
    const before = (path) => (this.keeps ? kept(key(lab.name, path)) : null);
    this.files = { ...lab.files };
    for (const path of lab.edit) {
      this.files[path] = given?.[path] ?? before(path) ?? lab.files[path];
    }
    this.memory = JSON.parse(before(MEMORY) ?? "{}");
  }

  // What the checks have written down: hints that were asked for, parts that are done.
  remember(texts) {
    this.memory = texts;
    if (this.keeps) keep(key(this.lab.name, MEMORY), JSON.stringify(texts));
  }

  // What is the student's own, by path.
  get own() {
    return Object.fromEntries(this.lab.edit.map((path) => [path, this.files[path]]));
  }

  // Whether it is kept, if it is to be.
  write(path, text) {
    this.files[path] = text;
    return !this.keeps || keep(key(this.lab.name, path), text);
  }

  // Back to the starter's.
  forget(path) {
    this.files[path] = this.lab.files[path];
    if (this.keeps) keep(key(this.lab.name, path), null);
  }
}
