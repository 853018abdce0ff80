// Everything can be read without scripts; this adds buttons to copy, tabs for programs, the mark in the outline, the search.
import { addSearch } from "./search.ts";

const LANGUAGE = "bellhop-docs-language";

for (const figure of document.querySelectorAll<HTMLElement>("figure.code")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const code = figure.querySelector("code") as HTMLElement;
    // Without the right to write to the clipboard the text is selected, ready for the keyboard.
    const copied = await navigator.clipboard?.writeText(code.textContent).then(
      () => true,
      () => false,
    );
    if (!copied) getSelection()?.selectAllChildren(code);
    button.textContent = copied ? "Copied" : "Selected";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2000);
  });
  figure.querySelector("figcaption")?.append(button);
}

const groups = [...document.querySelectorAll<HTMLElement>(".tabs")].map((group, number) => {
  const panels = [...group.querySelectorAll<HTMLElement>(":scope > .panel")];
  const list = document.createElement("div");
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", "Language");
  const tabs = panels.map((panel, at) => {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.id = `tab-${number}-${at}`;
    tab.textContent = panel.dataset["tab"] ?? "";
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", `panel-${number}-${at}`);
    tab.addEventListener("click", () => choose(tab.textContent, group));
    panel.id = `panel-${number}-${at}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    return tab;
  });
  list.append(...tabs);
  list.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(document.activeElement as HTMLButtonElement);
    const steps: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 };
    const next = event.key in steps ? tabs.at((steps[event.key] as number) % tabs.length) : undefined;
    if (next === undefined) return;
    event.preventDefault();
    next.focus();
    choose(next.textContent, group);
  });
  group.prepend(list);
  return { panels, tabs };
});

/** Shows one language in every group that has it, and keeps the group in use where it is on the screen. */
function choose(language: string | null, used?: HTMLElement): void {
  const before = used?.getBoundingClientRect().top ?? 0;
  for (const { panels, tabs } of groups) {
    const shown = Math.max(
      0,
      panels.findIndex((panel) => panel.dataset["tab"] === language),
    );
    for (const [at, tab] of tabs.entries()) {
      (panels[at] as HTMLElement).hidden = at !== shown;
      tab.setAttribute("aria-selected", String(at === shown));
      tab.tabIndex = at === shown ? 0 : -1;
    }
  }
  if (used !== undefined) scrollBy({ top: used.getBoundingClientRect().top - before, behavior: "instant" });
  if (language !== null) localStorage.setItem(LANGUAGE, language);
}
if (groups.length > 0) choose(localStorage.getItem(LANGUAGE));

const outline = new Map(
  [...document.querySelectorAll<HTMLAnchorElement>("aside a")].map((link) => [
    decodeURIComponent(link.hash.slice(1)),
    link,
  ]),
);
const headings = [...outline.keys()].flatMap((id) => document.getElementById(id) ?? []);
/** Marks the outline's link of the last heading that has come near the top of the window. */
function markOutline(): void {
  const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
  const read = atEnd
    ? headings.at(-1)
    : headings.findLast((heading) => heading.getBoundingClientRect().top < 140);
  for (const [id, link] of outline) {
    if (id === (read ?? headings[0])?.id) link.setAttribute("aria-current", "location");
    else link.removeAttribute("aria-current");
  }
}
if (headings.length > 0) {
  addEventListener("scroll", () => requestAnimationFrame(markOutline), { passive: true });
  markOutline();
}

document.querySelector('#contents [aria-current="page"]')?.scrollIntoView({ block: "nearest" });
addSearch(document.querySelector(".search") as HTMLElement);
