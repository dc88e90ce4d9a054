// Tells the notebooks' views (views.css) whether the browser wants light or dark.

const dark = matchMedia("(prefers-color-scheme: dark)");
const tell = () => (document.documentElement.dataset.jpThemeLight = String(!dark.matches));
dark.addEventListener("change", tell);
tell();
