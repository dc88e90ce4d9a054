// The engine of a page.

import { WorkerClient } from "./worker-client.js";

const SECONDS = 10; // that a question may take

export const engine = new WorkerClient(new URL("engine-worker.js", import.meta.url), SECONDS);
