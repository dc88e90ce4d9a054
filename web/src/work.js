// A lab, and what a student has made of it, which this browser keeps.

const key = (lab, path) => `p4lab/${lab}/${path}`;

const MEMORY = "?"; // no file has this name

export class Work {
  // `lab` is a file of `labs/`; `given` are texts by path that a link has brought.
  // Those are not kept, so that they replace nothing.
  constructor(lab, given) {
    this.lab = lab;
    this.keeps = given === undefined;
    this.files = { ...lab.files };
    for (const path of lab.edit) {
      const kept = localStorage.getItem(key(lab.name, path));
      this.files[path] = given?.[path] ?? kept ?? lab.files[path];
    }
    this.memory = JSON.parse(localStorage.getItem(key(lab.name, MEMORY)) ?? "{}");
  }

  // What the checks have written down: hints that were asked for, parts that are done.
  remember(texts) {
    this.memory = texts;
    if (this.keeps) localStorage.setItem(key(this.lab.name, MEMORY), JSON.stringify(texts));
  }

  // What is the student's own, by path.
  get own() {
    return Object.fromEntries(this.lab.edit.map((path) => [path, this.files[path]]));
  }

  write(path, text) {
    this.files[path] = text;
    if (this.keeps) localStorage.setItem(key(this.lab.name, path), text);
  }

  // Back to the starter's.
  forget(path) {
    this.files[path] = this.lab.files[path];
    if (this.keeps) localStorage.removeItem(key(this.lab.name, path));
  }
}
