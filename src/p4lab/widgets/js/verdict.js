import { box, button, excerpted, html, orphaning, reveal } from "./common.js";
import { player } from "./player.js";

function render({ model, el }) {
  const body = html("div", {});
  const screen = player();
  const hints = html("div", { class: "p4v-hints", role: "status", "aria-live": "polite" });
  let pressed = false; // here: another view of the same verdict stays where it is
  const ask = (what, check, field, place) => {
    pressed = true;
    model.send({ do: what, check });
    if (model.get(field)?.check === check) open(place); // it may stay as it is
  };
  const root = box("p4v-checks", "What the checks say", body, hints, screen.root);

  function build() {
    pressed = false;
    body.innerHTML = model.get("data").html;
    hints.replaceChildren();
    for (const { id, title, film } of model.get("data").failed) {
      const cell = body.querySelector(`tr[data-check="${id}"] td:last-child`);
      if (film) {
        cell?.append(
          button("watch it", `Watch it: ${title}`, () => ask("watch", id, "film", screen.root), { "data-watch": id }));
      }
      cell?.append(
        button("hint", `A hint: ${title}`, () => ask("hint", id, "hints", hints), { "data-hint": id }),
      );
    }
  }

  function open(place) {
    place.focus({ preventScroll: true });
    reveal(place);
  }

  // Shows what was asked for here.
  function answer(place) {
    if (pressed) open(place);
    pressed = false;
  }

  function showFilm() {
    const film = model.get("film");
    const there = Boolean(film && film.check !== undefined);
    screen.root.style.display = there ? "" : "none";
    if (!there) return;
    screen.show(film);
    answer(screen.root);
  }

  function showHints() {
    const found = model.get("hints");
    if (!found || found.check === undefined) return;
    const left = found.steps.length < found.of ? ` (${found.steps.length} of ${found.of})` : "";
    const text = (one) => html("pre", { tabindex: 0 }, ...excerpted(one.text.trim()));
    hints.replaceChildren(
      html("b", {}, `${found.title}${left}`),
      ...found.story.map(text),
      found.why ? html("p", {}, found.why) : html("ol", {}, found.steps.map((one) =>
        html("li", {}, html("b", {}, one.title), text(one)))),
    );
    answer(hints);
  }

  model.on("change:data", build);
  model.on("change:film", showFilm);
  model.on("change:hints", showHints);
  el.append(root);
  orphaning(model, root);
  build();
  showFilm();
  showHints();
  return () => {
    screen.stop();
    model.off("change:data", build);
    model.off("change:film", showFilm);
    model.off("change:hints", showHints);
  };
}

export default { render };
