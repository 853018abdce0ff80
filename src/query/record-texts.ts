import { WorkPauses } from "../platform/runtime/work-pauses.ts";

/** Longer records are read byte by byte, because parsing one would hold the thread: it may be any JSON of 64 MB. */
const PARSED_BYTES_MAX = 131_072;
/** Bytes between two looks at the clock: some tenths of a millisecond. */
const STEP_BYTES = 131_072;
/** A name or a text of 256 characters, each escaped as six bytes or twelve. */
const TEXT_BYTES_MAX = 4_096;

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const [OBJECT, OBJECT_END, ARRAY, ARRAY_END] = [0x7b, 0x7d, 0x5b, 0x5d];

/** The members of a JSON object that are texts, by name; empty for another value. `names`: those that are wanted. */
export async function textsOfRecord<Name extends string>(
  record: Buffer,
  names: readonly Name[],
): Promise<Partial<Record<Name, string>>> {
  if (record.length === 0) return {};
  if (record.length <= PARSED_BYTES_MAX) return textsOf(JSON.parse(record.toString("utf8")), names);
  const scan = new MemberScan(record, new Set<string>(names));
  const pauses = new WorkPauses();
  while (scan.run(STEP_BYTES)) if (pauses.isDue) await pauses.pause();
  return scan.found as Partial<Record<Name, string>>;
}

function textsOf<Name extends string>(value: unknown, names: readonly Name[]): Partial<Record<Name, string>> {
  const fields = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  const texts = names.flatMap((name) => {
    const text = fields[name];
    return typeof text === "string" ? [[name, text] as const] : [];
  });
  return Object.fromEntries(texts) as Partial<Record<Name, string>>;
}

/** Finds texts among the members of an object in valid JSON, some bytes at a time. */
class MemberScan {
  readonly found: Record<string, string> = {};
  readonly #json: Buffer;
  readonly #names: ReadonlySet<string>;
  #at = 0;
  #depth = 0;
  /** Where the current text began; -1 between texts. */
  #textFrom = -1;
  /** The name of the member whose value is next; undefined before a name. */
  #name: string | undefined;
  #isValue = false;

  constructor(json: Buffer, names: ReadonlySet<string>) {
    this.#json = json;
    this.#names = names;
  }

  /** Reads some bytes; returns whether any are left. */
  run(bytes: number): boolean {
    const json = this.#json;
    const end = Math.min(json.length, this.#at + bytes);
    for (let at = this.#at; at < end; at += 1) {
      const byte = json[at];
      if (this.#textFrom !== -1) {
        if (byte === BACKSLASH) at += 1;
        else if (byte === QUOTE) this.#endText(at + 1);
      } else if (byte === QUOTE) this.#textFrom = at;
      else if (byte === OBJECT || byte === ARRAY) this.#depth += 1;
      else if (byte === OBJECT_END || byte === ARRAY_END) this.#depth -= 1;
      else if (this.#depth === 1 && (byte === COLON || byte === COMMA)) this.#isValue = byte === COLON;
      this.#at = at + 1;
    }
    return this.#at < json.length;
  }

  #endText(end: number): void {
    const from = this.#textFrom;
    this.#textFrom = -1;
    if (this.#depth !== 1) return;
    const isShort = end - from <= TEXT_BYTES_MAX;
    const text = isShort ? (JSON.parse(this.#json.toString("utf8", from, end)) as string) : undefined;
    if (this.#isValue) {
      if (this.#name !== undefined && text !== undefined) this.found[this.#name] = text;
      return;
    }
    this.#name = text !== undefined && this.#names.has(text) ? text : undefined;
    // Of a repeated name the last value counts, as for JSON.parse.
    if (this.#name !== undefined) delete this.found[this.#name];
  }
}
