// What a student hands in: a zip that `p4lab grade` takes, and `p4lab check` once it is unpacked.

import { strToU8, zipSync } from "fflate";

export function zipped({ lab, files, memory }) {
  const entries = Object.entries({ ...files, ...memory }).map(([path, text]) => [path, strToU8(text)]);
  return zipSync({ [lab.name]: Object.fromEntries(entries) });
}
