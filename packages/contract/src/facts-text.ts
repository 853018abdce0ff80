const BACKSLASH = 0x5c;
const QUOTE = '"';
const ESCAPED = /\\(.)/gsu;

const malformed = () => new Error("Stored facts are not an array as PostgreSQL writes it.");

/** The position after the closing quote of a quoted text, which a comma or the end must follow. */
function endOfQuoted(text: string, start: number, end: number): number {
  let at = start + 1;
  for (; at < end && text[at] !== QUOTE; at += 1) if (text.charCodeAt(at) === BACKSLASH) at += 1;
  if (at >= end || (at + 1 < end && text[at + 1] !== ",")) throw malformed();
  return at + 1;
}

/** Appends to `parts` the elements of a PostgreSQL array within its braces, from `start` to `end`. Throws where a quoted one is malformed. */
function partsOf(text: string, start: number, end: number, parts: (string | null)[]): (string | null)[] {
  for (let at = start; at < end; at += 1) {
    const from = at;
    if (text[at] === QUOTE) {
      at = endOfQuoted(text, at, end);
      const inner = text.slice(from + 1, at - 1);
      parts.push(inner.includes("\\") ? inner.replace(ESCAPED, "$1") : inner);
    } else {
      at = text.indexOf(",", at);
      if (at === -1) at = end;
      const bare = text.slice(from, at);
      parts.push(bare === "NULL" ? null : bare);
    }
  }
  return parts;
}

/** The facts of a stored text by column; undefined or null if absent. Throws if the text is malformed. */
export function factsOfText(text: string): (string | null | undefined)[] {
  if (text.length < 2 || text[0] !== "{" || text.at(-1) !== "}") throw malformed();
  return partsOf(text, 1, text.length - 1, [null]);
}

/** The elements of a list fact; [] if absent. Trailing omitted elements equal the first. */
export function elementsOf(list: string | null | undefined): (string | null)[] {
  if (list === null || list === undefined) return [];
  if (list[0] !== QUOTE && !list.includes(",")) return [list];
  let end = list.length;
  while (list[end - 1] === ",") end -= 1;
  const elements = partsOf(list, 0, end, []);
  for (let at = end; at < list.length; at += 1) elements.push(elements[0] as string);
  return elements;
}
