// Links that carry a program and a packet, in the part of an address that no server sees.

import { deflateSync, inflateSync, strFromU8, strToU8 } from "fflate";

const MOST = 1 << 20; // bytes of a link once unpacked
const HEAD = "#work=";

const base64url = (bytes) => {
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
};
const bytesOf = (text) => {
  const raw = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(raw, (char) => char.charCodeAt(0));
};

// The end of an address, for what a student has changed. `frame` may be null.
export function link({ lab, own }, frame) {
  const files = Object.entries(own).filter(([path, text]) => text !== lab.files[path]);
  const told = { lab: lab.name, files: Object.fromEntries(files), frame };
  return HEAD + base64url(deflateSync(strToU8(JSON.stringify(told)), { level: 9 }));
}

// What such an address carries, or null. Throws Error for one that is damaged.
export function carried(hash) {
  if (!hash.startsWith(HEAD)) return null;
  try {
    const room = new Uint8Array(MOST);
    const { lab, files, frame } = JSON.parse(
      strFromU8(inflateSync(bytesOf(hash.slice(HEAD.length)), { out: room })),
    );
    return { lab: String(lab), files: texts(files), frame: frame && packet(frame) };
  } catch {
    throw new Error("the link is damaged; ask for it again.");
  }
}

const texts = (files) =>
  Object.fromEntries(Object.entries(files).map(([path, text]) => [path, String(text)]));
const packet = ({ host, data }) => ({ host: String(host), data: String(data) });
