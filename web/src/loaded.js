// Files of the site.

export const LOST = "A file of this page did not arrive. Is there a connection? Try again, or load the page anew.";

// The bytes of a file. Throws Error with a sentence for the reader.
export async function loaded(url) {
  try {
    const answer = await fetch(url);
    if (answer.ok) return new Uint8Array(await answer.arrayBuffer());
  } catch {
    // as below
  }
  throw new Error(LOST);
}
