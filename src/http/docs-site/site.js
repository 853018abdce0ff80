// What a page can do without a script, it does; this makes tabs of programs that stand one below the other, and marks the
// place where you are among the headings beside the text.

// All scripts are served from one folder (docs-routes.ts): it lies in page/.
import { followReading } from "./follow-reading.js";

const KEPT = "bellhop-docs-language";

/** The language that was chosen last, on whatever page; a browser that keeps nothing forgets it. */
function keptLanguage() {
  try {
    return localStorage.getItem(KEPT) ?? "";
  } catch {
    return "";
  }
}

function keepLanguage(language) {
  try {
    localStorage.setItem(KEPT, language);
  } catch {
    // Then it holds for this page.
  }
}

const groups = [...document.querySelectorAll(".tabs")].map((group, number) => {
  const panels = [...group.querySelectorAll(":scope > .panel")];
  const list = document.createElement("div");
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", "Language");
  const tabs = panels.map((panel, at) => {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.id = `tab-${number}-${at}`;
    tab.textContent = panel.dataset.tab;
    tab.setAttribute("role", "tab");
    panel.id = `panel-${number}-${at}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    tab.setAttribute("aria-controls", panel.id);
    tab.addEventListener("click", () => choose(panel.dataset.tab));
    list.append(tab);
    return tab;
  });
  list.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(document.activeElement);
    const steps = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const next = tabs.at(steps[event.key] % tabs.length);
    next.focus();
    choose(next.textContent);
  });
  group.prepend(list);
  group.classList.add("live");
  return { panels, tabs, group };
});

/** Shows one language in every group that has it. Where the reader looks stays where it is. */
function choose(language) {
  const anchor = document.activeElement?.closest?.(".tabs");
  const before = anchor?.getBoundingClientRect().top;
  for (const { panels, tabs } of groups) {
    const found = panels.findIndex((panel) => panel.dataset.tab === language);
    const shown = found === -1 ? 0 : found;
    panels.forEach((panel, at) => {
      panel.hidden = at !== shown;
      tabs[at].setAttribute("aria-selected", String(at === shown));
      tabs[at].tabIndex = at === shown ? 0 : -1;
    });
  }
  if (anchor) scrollBy({ top: anchor.getBoundingClientRect().top - before, behavior: "instant" });
  keepLanguage(language);
}
if (groups.length > 0) choose(keptLanguage());

// Addresses of the API reference from when it was this page.
const start = document.querySelector('nav a[aria-current="page"]');
if (location.hash.length > 1 && start?.dataset.api && !document.getElementById(location.hash.slice(1)))
  location.replace(start.dataset.api + location.hash);

const links = new Map(
  [...document.querySelectorAll(".beside a")].map((link) => [decodeURIComponent(link.hash.slice(1)), link]),
);
const headings = [...document.querySelectorAll("article :is(h2, h3)[id]")].filter(({ id }) => links.has(id));
followReading(links, headings);

document.querySelector('#contents [aria-current="page"]')?.scrollIntoView({ block: "nearest" });
