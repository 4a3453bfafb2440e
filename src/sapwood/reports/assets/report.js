// The page: heading, navigation, sections, theme.
function setTheme(name) {
  document.documentElement.dataset.theme = name;
}
setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => setTheme(event.matches ? "dark" : "light"));
let themeBeforePrint = "";
addEventListener("beforeprint", () => { themeBeforePrint = document.documentElement.dataset.theme; setTheme("light"); });
addEventListener("afterprint", () => setTheme(themeBeforePrint));

const sections = [
  summarySection, findingsSection, qualitySection, curvesSection, importancesSection, effectsSection, interactionsSection, rowsSection,
  treesSection, columnsSection, decisionsSection,
].map((make) => make()).filter(Boolean);

const facts = content.model;
const heading = el("header", {},
  el("div", { class: "tools" },
    el("button", { type: "button", id: "theme", onclick: () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark") }, "Light / dark"),
    el("button", { type: "button", onclick: () => print() }, "Print")),
  el("h1", {}, content.title),
  el("div", { class: "meta" },
    el("span", {}, `${facts.estimator}, ${facts.task} (${facts.objective})`), el("span", {}, `${integer(facts.n_trees)} trees, ${integer(facts.n_leaves)} leaves`),
    el("span", {}, content.created), el("span", {}, `Sapwood ${facts.reported_with}`)));

const links = sections.map((s) => el("a", { href: "#" + s.id }, s.querySelector("h2").textContent));
const sampled = content.data.n_explained < content.data.n_rows ? ` Contributions are computed for a sample of ${integer(content.data.n_explained)} rows.` : "";
const footer = el("footer", {},
  el("p", {}, `Metrics are computed on ${integer(content.data.n_rows)} rows.${sampled} Contributions are exact Shapley values of the scores before the link function (${facts.link}).`),
  el("p", {}, "Fingerprint of the model: ", el("code", { id: "fingerprint" }, facts.fingerprint)));
document.getElementById("app").replaceChildren(
  el("div", { class: "layout" }, el("nav", { "aria-label": "Sections" }, links), el("main", { id: "main" }, heading, sections, footer)), tip);

if ("IntersectionObserver" in window) {
  const seen = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (entry.isIntersecting) links.forEach((a) => a.classList.toggle("here", a.getAttribute("href") === "#" + entry.target.id));
  }), { rootMargin: "-10% 0px -80% 0px" });
  sections.forEach((s) => seen.observe(s));
}
