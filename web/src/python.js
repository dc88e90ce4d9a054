// The page's Python, which starts with the first question.

import { WorkerClient } from "./worker-client.js";

const SECONDS = 90; // that a question may take; a verdict may take as long on the command line

export const python = new WorkerClient(new URL("python-worker.js", import.meta.url), SECONDS);
