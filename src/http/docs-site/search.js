// The search over all pages: its index is asked for when somebody begins to search, and looked through here.

const place = document.querySelector(".search");
const HITS_MAX = 12;
const EXCERPT_CHARACTERS = 140;

const field = document.createElement("input");
field.type = "search";
field.placeholder = "Search";
field.autocomplete = "off";
field.spellcheck = false;
field.setAttribute("role", "combobox");
field.setAttribute("aria-label", "Search the documentation");
field.setAttribute("aria-expanded", "false");
field.setAttribute("aria-controls", "hits");
field.setAttribute("aria-autocomplete", "list");
field.setAttribute("aria-keyshortcuts", "/");
const hits = document.createElement("ul");
hits.id = "hits";
hits.className = "hits";
hits.hidden = true;
hits.setAttribute("role", "listbox");
hits.setAttribute("aria-label", "Found");
const said = document.createElement("span");
said.className = "unseen";
said.setAttribute("role", "status");
const key = document.createElement("kbd");
key.textContent = "/";
key.setAttribute("aria-hidden", "true");
place.append(field, key, hits, said);
place.hidden = false;

let index;
function load() {
  index ??= fetch(place.dataset.index)
    .then((answer) => (answer.ok ? answer.json() : []))
    .catch(() => {
      // Asked for again with the next letter.
      index = undefined;
      return [];
    });
  return index;
}

const lower = new WeakMap();
function loweredOf(entry) {
  if (!lower.has(entry))
    lower.set(entry, {
      page: entry.page.toLowerCase(),
      heading: entry.heading.toLowerCase(),
      text: entry.text.toLowerCase(),
    });
  return lower.get(entry);
}

/** How well a part answers all words asked for: headings before pages before text, beginnings of words before the rest. */
function weigh(entry, words) {
  const { page, heading, text } = loweredOf(entry);
  let sum = 0;
  for (const word of words) {
    const begins = (within) => within.startsWith(word) || within.includes(` ${word}`);
    const one =
      (heading === word ? 40 : 0) +
      (begins(heading) ? 20 : heading.includes(word) ? 8 : 0) +
      (begins(page) ? 10 : 0) +
      (begins(text) ? 3 : text.includes(word) ? 1 : 0);
    if (one === 0) return 0;
    sum += one;
  }
  return sum;
}

/** The text around the first of the words, with each of them marked. */
function excerptOf({ text }, words) {
  const found = words.map((word) => text.toLowerCase().indexOf(word)).filter((at) => at >= 0);
  const first = found.length === 0 ? 0 : Math.max(0, Math.min(...found) - 40);
  const piece = text.slice(first, first + EXCERPT_CHARACTERS);
  const excerpt = document.createElement("span");
  excerpt.className = "excerpt";
  if (first > 0) excerpt.append("…");
  let rest = piece;
  while (rest !== "") {
    const places = words
      .map((word) => ({ word, at: rest.toLowerCase().indexOf(word) }))
      .filter(({ at }) => at >= 0)
      .sort((a, b) => a.at - b.at);
    if (places.length === 0) break;
    const [{ word, at }] = places;
    const marked = document.createElement("mark");
    marked.textContent = rest.slice(at, at + word.length);
    excerpt.append(rest.slice(0, at), marked);
    rest = rest.slice(at + word.length);
  }
  excerpt.append(rest, first + EXCERPT_CHARACTERS < text.length ? "…" : "");
  return excerpt;
}

let chosen = -1;
let asked = 0;

function choose(at) {
  const options = [...hits.querySelectorAll("[role=option]")];
  options[chosen]?.setAttribute("aria-selected", "false");
  chosen = options.length === 0 ? -1 : (at + options.length) % options.length;
  const option = options[chosen];
  option?.setAttribute("aria-selected", "true");
  option?.scrollIntoView({ block: "nearest" });
  if (option) field.setAttribute("aria-activedescendant", option.id);
  else field.removeAttribute("aria-activedescendant");
}

function close() {
  hits.hidden = true;
  field.setAttribute("aria-expanded", "false");
  field.removeAttribute("aria-activedescendant");
  chosen = -1;
}

function show(entries, words) {
  hits.replaceChildren(
    ...entries.map((entry, at) => {
      const item = document.createElement("li");
      item.setAttribute("role", "presentation");
      const link = document.createElement("a");
      link.id = `hit-${at}`;
      link.setAttribute("role", "option");
      link.setAttribute("aria-selected", "false");
      link.href = place.dataset.root + entry.at;
      link.tabIndex = -1;
      const title = document.createElement("span");
      title.className = "hit";
      title.textContent = entry.heading;
      const page = document.createElement("span");
      page.className = "of";
      page.textContent = entry.page;
      link.append(title, page, excerptOf(entry, words));
      link.addEventListener("click", close);
      item.append(link);
      return item;
    }),
  );
  if (entries.length === 0) {
    const none = document.createElement("li");
    none.className = "none";
    none.textContent = "Nothing found. All of these words must stand in one part of a page.";
    hits.append(none);
  }
  said.textContent = entries.length === 1 ? "1 part found" : `${entries.length} parts found`;
  hits.hidden = false;
  field.setAttribute("aria-expanded", "true");
  chosen = -1;
  choose(0);
}

async function search() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  asked += 1;
  const turn = asked;
  if (words.length === 0) return close();
  const entries = await load();
  if (turn !== asked) return;
  const weighed = entries
    .map((entry) => ({ entry, weight: weigh(entry, words) }))
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight);
  show(
    weighed.slice(0, HITS_MAX).map(({ entry }) => entry),
    words,
  );
}

field.addEventListener("focus", load, { once: true });
field.addEventListener("input", search);
field.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    if (hits.hidden) search();
    else choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
  } else if (event.key === "Enter") {
    hits.querySelector('[aria-selected="true"]')?.click();
  } else if (event.key === "Escape") {
    // A browser would empty the field: what was found could not be shown again.
    event.preventDefault();
    if (hits.hidden) field.blur();
    close();
  }
});
document.addEventListener("click", (event) => {
  if (!place.contains(event.target)) close();
});
document.addEventListener("focusin", (event) => {
  if (!place.contains(event.target)) close();
});
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, textarea, [contenteditable]");
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  field.focus();
});
