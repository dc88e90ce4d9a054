// A worker that answers questions one after the other, and can be ended: what a student writes may
// keep it busy for ever, or take all memory it can have. Then another one is started.

const LATE =
  "look for what is very long or never ends: instances, parser states, packets that go around.";

export class Stopped extends Error {}

export class WorkerClient {
  #worker = null;
  #waiting = new Map();
  #number = 0;

  // `seconds` is what a question may take; `hello` is called for each worker that starts.
  constructor(url, seconds, hello = () => {}) {
    this.url = url;
    this.seconds = seconds;
    this.hello = hello;
  }

  // The answer to a question. Throws Error with what the other side says, or Stopped.
  ask(question, seconds = this.seconds) {
    const worker = (this.#worker ??= this.#start());
    const id = (this.#number += 1);
    return new Promise((resolve, reject) => {
      const late = () => this.end(`It takes more than ${seconds} s; ${LATE}`);
      const timer = setTimeout(late, seconds * 1000);
      this.#waiting.set(id, { resolve, reject, timer });
      worker.postMessage({ id, question });
    });
  }

  // Whether nothing is under way.
  get idle() {
    return this.#waiting.size === 0;
  }

  // Ends what is under way; whoever waits hears why.
  end(why) {
    this.#worker?.terminate();
    this.#worker = null;
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(new Stopped(why));
    }
    this.#waiting.clear();
  }

  #start() {
    const worker = new Worker(this.url, { type: "module" });
    worker.onmessage = ({ data }) => {
      if (data.id === undefined) return this.hello(data);
      const waiting = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      clearTimeout(waiting?.timer);
      if (data.fatal) return waiting?.reject(new Stopped(data.fatal)), this.end(data.fatal);
      if (data.error !== undefined) waiting?.reject(new Error(data.error));
      else waiting?.resolve(data.answer);
    };
    worker.onerror = (event) => this.end(event.message || "The worker could not be started.");
    return worker;
  }
}
