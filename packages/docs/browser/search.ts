import type MiniSearch from "minisearch";
import type { SearchResult } from "minisearch";
import { findSections, readIndex, type SearchEntry } from "../search-options.ts";

const HITS_MAX = 12;
const EXCERPT_CHARACTERS = 150;

const FIELD = {
  type: "search",
  placeholder: "Search",
  autocomplete: "off",
  spellcheck: "false",
  role: "combobox",
  "aria-label": "Search the documentation",
  "aria-expanded": "false",
  "aria-controls": "hits",
  "aria-autocomplete": "list",
  "aria-keyshortcuts": "/",
};

type Attributes = Readonly<Record<string, string>>;

function element(name: string, attributes: Attributes = {}, ...children: (Node | string)[]): HTMLElement {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
}

/** The text around the first match, with every match marked. */
function excerptOf(hit: SearchResult): HTMLElement {
  const text = String(hit["text"]);
  const terms = Object.keys(hit.match).map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const match = new RegExp(`(${terms.join("|")})`, "i");
  const start = Math.max(0, text.search(match) - 40);
  const end = start + EXCERPT_CHARACTERS;
  const excerpt = text
    .slice(start, end)
    .replace(start > 0 ? /^\S*\s+/ : "", "")
    .trim();
  const pieces = (end < text.length ? excerpt.replace(/\s+\S*$/, " …") : excerpt).split(match);
  const marked = pieces.map((piece, at) => (at % 2 === 1 ? element("mark", {}, piece) : piece));
  return element("span", { class: "excerpt" }, start > 0 ? "… " : "", ...marked);
}

/** Adds the search over all pages: a combobox, reached with `/`, whose index is loaded when the field gets the focus. */
export function addSearch(place: HTMLElement): void {
  const field = element("input", FIELD) as HTMLInputElement;
  const list = element("ul", { id: "hits", role: "listbox", "aria-label": "Results", hidden: "" });
  const status = element("span", { class: "unseen", role: "status" });
  place.append(field, element("kbd", { "aria-hidden": "true" }, "/"), list, status);

  const audience = place.dataset["audience"] as SearchEntry["audience"];
  let index: Promise<MiniSearch<SearchEntry>> | undefined;
  const load = () => {
    index ??= fetch(place.dataset["index"] ?? "")
      .then((answer) => answer.text())
      .then(readIndex);
    // A failed load is tried again with the next letter.
    index.catch(() => {
      index = undefined;
    });
    return index;
  };

  let chosen = 0;
  const options = () => [...list.querySelectorAll<HTMLAnchorElement>("[role=option]")];
  const choose = (at: number) => {
    const all = options();
    chosen = all.length === 0 ? 0 : (at + all.length) % all.length;
    for (const [each, option] of all.entries()) option.setAttribute("aria-selected", String(each === chosen));
    all[chosen]?.scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", all[chosen]?.id ?? "");
  };
  const open = (isOpen: boolean) => {
    list.hidden = !isOpen;
    field.setAttribute("aria-expanded", String(isOpen));
    if (!isOpen) field.removeAttribute("aria-activedescendant");
  };
  const search = async () => {
    const query = field.value;
    if (query.trim() === "") return open(false);
    const hits = findSections(await load(), query, audience).slice(0, HITS_MAX);
    if (query !== field.value) return;
    const items = hits.map((hit, at) => {
      const href = `${place.dataset["root"]}${hit.id}`;
      const link = element("a", { id: `hit-${at}`, role: "option", href, tabindex: "-1" });
      link.append(element("strong", {}, hit["heading"]), element("small", {}, hit["page"]), excerptOf(hit));
      return element("li", { role: "presentation" }, link);
    });
    const none = element(
      "li",
      { class: "none", role: "option", "aria-disabled": "true", "aria-selected": "false" },
      "No results",
    );
    list.replaceChildren(...(items.length === 0 ? [none] : items));
    status.textContent = items.length === 1 ? "1 result" : `${items.length} results`;
    open(true);
    choose(0);
  };

  field.addEventListener("focus", () => void load(), { once: true });
  field.addEventListener("input", () => void search());
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      if (list.hidden) void search();
      else choose(chosen + step);
    } else if (event.key === "Enter") options()[chosen]?.click();
    else if (event.key === "Escape") {
      // The browser would empty the field.
      event.preventDefault();
      if (list.hidden) field.blur();
      open(false);
    }
  });
  list.addEventListener("click", () => open(false));
  for (const type of ["click", "focusin"])
    document.addEventListener(type, (event) => {
      if (!place.contains(event.target as Node)) open(false);
    });
  document.addEventListener("keydown", (event) => {
    const isTyping = (event.target as HTMLElement).closest("input, textarea, [contenteditable]");
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    field.focus();
  });
}
