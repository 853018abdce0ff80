const PLACES = 1_024;
const CHARACTERS_MAX = 32;
const ASCII_MAX = 0x7f;

/**
 * Texts that come again and again, as codes and labels do: found by their bytes without making a string of them. A place
 * holds the last text that fell there, so it never holds more than a few ten thousand characters.
 */
export class TextMemory {
  readonly #texts: string[] = new Array<string>(PLACES).fill("");

  /** The text of the bytes (UTF-8) from `start` up to `end`. */
  textAt(bytes: Buffer, start: number, end: number): string {
    const length = end - start;
    if (length > CHARACTERS_MAX) return bytes.toString("utf8", start, end);
    let hash = length;
    let isAscii = true;
    for (let at = start; at < end; at += 1) {
      const byte = bytes[at] as number;
      if (byte > ASCII_MAX) isAscii = false;
      hash = (hash * 31 + byte) | 0;
    }
    if (!isAscii) return bytes.toString("utf8", start, end);
    const place = (hash ^ (hash >>> 11)) & (PLACES - 1);
    const text = this.#texts[place] as string;
    if (text.length === length && isText(text, bytes, start)) return text;
    const made = bytes.toString("latin1", start, end);
    this.#texts[place] = made;
    return made;
  }
}

function isText(text: string, bytes: Buffer, start: number): boolean {
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) !== bytes[start + at]) return false;
  return true;
}
