// A worker that answers questions one after the other, and can be ended: what a student writes may
// keep it busy for ever, or take all memory it can have. Then another one is started.

const LATE =
  "look for what is very long or never ends: instances, parser states, packets that go around.";

export class Stopped extends Error {}

export class WorkerClient {
  #worker = null;
  #ready = false;
  #waiting = new Map(); // in the order in which they are answered
  #timer = null; // of the question that is being answered
  #number = 0;

  // `seconds` is what a question may take. What the worker has to load first does not count: a slow
  // network is not the fault of a program.
  constructor(url, seconds) {
    this.url = url;
    this.seconds = seconds;
  }

  // The answer to a question. Throws Error with what the other side says, or Stopped.
  ask(question) {
    const worker = (this.#worker ??= this.#start());
    const id = (this.#number += 1);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      if (this.#waiting.size === 1) this.#time();
      worker.postMessage({ id, question });
    });
  }

  // Whether nothing is under way.
  get idle() {
    return this.#waiting.size === 0;
  }

  // Whether the worker has loaded what it needs.
  get ready() {
    return this.#ready;
  }

  // Ends what is under way; whoever waits hears why.
  end(why) {
    this.#worker?.terminate();
    this.#worker = null;
    this.#ready = false;
    clearTimeout(this.#timer);
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(new Stopped(why));
  }

  // Begins to measure how long the next answer takes.
  #time() {
    clearTimeout(this.#timer);
    if (!this.#ready || this.idle) return;
    const late = () => this.end(`It takes more than ${this.seconds} s; ${LATE}`);
    this.#timer = setTimeout(late, this.seconds * 1000);
  }

  #start() {
    const worker = new Worker(this.url, { type: "module" });
    worker.onmessage = ({ data }) => worker === this.#worker && this.#hear(data);
    worker.onerror = (event) => this.end(event.message || "The worker could not be started.");
    return worker;
  }

  #hear({ id, ready, fatal, error, answer }) {
    if (fatal) return this.end(fatal);
    this.#ready ||= ready === true;
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    this.#time();
    if (error !== undefined) waiting?.reject(new Error(error));
    else waiting?.resolve(answer);
  }
}
