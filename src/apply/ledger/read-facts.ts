/**
 * Reads the text of facts (`contract/write-facts.ts`) back: what is stored of a version that is to be taken off the books
 * again. Understood is what `rowText` and its like write, and what PostgreSQL wrote when texts were made of columns (migration
 * 0005): it doubles marks that we escape.
 */

const BACKSLASH = 0x5c;
const QUOTE = '"';
const TO_UNQUOTE = /["\\]/;

/** The end of a quoted text that begins at `start`, after its closing quote. */
function endOfQuoted(text: string, start: number): number {
  let at = start + 1;
  for (;;) {
    if (text.charCodeAt(at) === BACKSLASH) at += 2;
    else if (text[at] !== QUOTE) at += 1;
    else if (text[at + 1] === QUOTE) at += 2;
    else return at + 1;
  }
}

/** What a quoted text means. */
function unquoted(text: string, start: number, end: number): string {
  const inner = text.slice(start + 1, end - 1);
  return TO_UNQUOTE.test(inner) ? inner.replace(/\\(.)|"(")/gsu, (_, one, other) => one ?? other) : inner;
}

/** The parts of a list that are parted by commas, from `start` up to the mark that ends it; nothing at all is null. */
function partsOf(text: string, start: number, isNull: (bare: string) => boolean): (string | null)[] {
  const end = text.length - 1;
  const parts: (string | null)[] = [];
  for (let at = start; ; ) {
    let next: number;
    if (text[at] === QUOTE) {
      next = endOfQuoted(text, at);
      parts.push(unquoted(text, at, next));
    } else {
      next = text.indexOf(",", at);
      if (next === -1) next = end;
      const bare = text.slice(at, next);
      parts.push(isNull(bare) ? null : bare);
    }
    if (next >= end) return parts;
    at = next + 1;
  }
}

/** The fields of a row, null where there is none. */
export function fieldsOfRow(text: string): (string | null)[] {
  return partsOf(text, 1, (bare) => bare === "");
}

/** The elements of an array that is a field of a row; of one that is null, none. */
export function elementsOf(field: string | null | undefined): (string | null)[] {
  if (field === null || field === undefined || field === "{}") return [];
  if (field[1] !== QUOTE && !field.includes(",")) return [field.slice(1, -1)];
  return partsOf(field, 1, (bare) => bare === "NULL");
}
