import { isWhitespace } from "./scan-element.ts";
import { UNSURE } from "./walk-value.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

const OPEN = 1;
const CLOSE = 2;
const COMMA = 3;
const BYTE_CLASS = new Uint8Array(256);
for (const byte of Buffer.from("[{")) BYTE_CLASS[byte] = OPEN;
for (const byte of Buffer.from("]}")) BYTE_CLASS[byte] = CLOSE;
for (const byte of Buffer.from(",")) BYTE_CLASS[byte] = COMMA;

/** Where the text is over whose first byte after the quote stands at `at`, its quote included. The text is JSON. */
function skipText(body: Uint8Array, at: number): number {
  for (let here = at; here < body.length; here += 1) {
    const byte = body[here];
    if (byte === QUOTE) return here + 1;
    if (byte === BACKSLASH) here += 1;
  }
  return UNSURE;
}

/** Where the JSON value at `at` is over. */
export function skipValue(body: Uint8Array, at: number): number {
  if (body[at] === QUOTE) return skipText(body, at + 1);
  let depth = 0;
  for (let here = at; here < body.length; here += 1) {
    const byte = body[here] as number;
    if (byte === QUOTE) {
      here = skipText(body, here + 1) - 1;
      if (here < 0) return UNSURE;
      continue;
    }
    const of = BYTE_CLASS[byte];
    if (of === OPEN) depth += 1;
    else if (of === CLOSE) {
      depth -= 1;
      if (depth === 0) return here + 1;
      if (depth < 0) return endOfScalar(body, here);
    } else if (of === COMMA && depth === 0) return endOfScalar(body, here);
  }
  return UNSURE;
}

function endOfScalar(body: Uint8Array, from: number): number {
  let end = from;
  while (isWhitespace(body[end - 1] as number)) end -= 1;
  return end;
}
