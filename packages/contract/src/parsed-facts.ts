import { isCalendarDate, isUtcTimestamp } from "./calendar.ts";
import { decimalText, integerValue, isDecimal, isInteger } from "./decimal.ts";
import { LIST, NOTED, type NotedObject } from "./noted-fields.ts";
import { UnstorableFact } from "./record-reading.ts";
import type { Resource } from "./resource.ts";
import type { FieldKind, FieldSchema } from "./schema/field.ts";
import { RECORD_SCHEMAS } from "./schema/record-schemas.ts";
import { HEAD_NUMBERS, ITEM_NUMBERS } from "./span-plan.ts";
import { COLUMN_BYTES, HEAD, type RecordSpans } from "./walk-spans.ts";

type Value = Readonly<Record<string, unknown>>;

// Texts that mean themselves in rows and arrays: ASCII, without the marks that have a meaning there.
const PLAIN = /^[!#-'*+\-.-[\]-z|~]+$/;
const TO_ESCAPE = /["\\]/g;

/** The text of a value as a fact. Throws UnstorableFact for one that its type in PostgreSQL would not read. */
function factText(kind: FieldKind, value: unknown): string {
  if (
    kind === "date"
      ? isCalendarDate(value as string)
      : kind === "timestamp" && isUtcTimestamp(value as string)
  )
    return value as string;
  if ((kind === "count" || kind === "integer") && isInteger(value)) return String(integerValue(value));
  if (kind === "decimal" && isDecimal(value)) return decimalText(value);
  const isText = kind === "text" || kind === "code" || kind === "identity";
  if (isText && typeof value === "string") return value;
  throw new UnstorableFact(`A fact is no ${kind}.`);
}

/**
 * The spans of a record that was parsed, over a text of its own: what `walkSpans` gives where the bytes are as usual, so that facts
 * are written in one way.
 */
class ParsedFacts {
  readonly #slab: number[] = [];
  /** No span begins at 0, which says that there is none. */
  readonly #pieces: string[] = [" "];
  #size = 1;
  readonly #counts = [0, 0, 0];
  readonly #lasts = [0, 0, 0];

  spans(resource: Resource, record: Value): RecordSpans {
    const noted = NOTED[resource];
    this.#take(HEAD_NUMBERS + 2 * (noted.columns?.length ?? 0));
    this.#object(noted, RECORD_SCHEMAS[resource], record, HEAD_NUMBERS, 1);
    this.#slab[HEAD.factsBytesMax] = this.#size + COLUMN_BYTES * this.#slab.length;
    return { bytes: Buffer.from(this.#pieces.join("")), slab: Int32Array.from(this.#slab), base: 0 };
  }

  #take(numbers: number): number {
    const place = this.#slab.length;
    for (let number = 0; number < numbers; number += 1) this.#slab.push(0);
    return place;
  }

  /** Columns of the record are quoted once, those of items twice: in their array, and with that in the row. */
  #object(noted: NotedObject, schema: FieldSchema, value: Value, from: number, quotes: number): void {
    const fields = schema.properties ?? {};
    noted.columns?.forEach((name, at) => {
      const fact = value[name];
      if (fact === undefined || fact === null) return;
      this.#note(from + 2 * at, factText((fields[name] as FieldSchema).fieldKind, fact), quotes);
    });
    for (const [name, inner] of Object.entries(noted.inner ?? {})) {
      const member = value[name] ?? [];
      const { items } = fields[name] as FieldSchema;
      if (items === undefined) {
        this.#object(inner, fields[name] as FieldSchema, member as Value, 0, 2);
        continue;
      }
      for (const item of member as readonly Value[])
        this.#object(inner, items, item, inner.list === undefined ? 0 : this.#newItem(inner, inner.list), 2);
      if (name === "roomTypeInventories") this.#slab[HEAD.regularRooms] = this.#counts[LIST.rooms] as number;
    }
  }

  /** Where the columns of another item of a list begin; see `newItem` of walk-spans. */
  #newItem({ columns = [] }: NotedObject, list: number): number {
    const place = this.#take(ITEM_NUMBERS + 2 * columns.length);
    const last = this.#lasts[list] as number;
    this.#slab[last === 0 ? HEAD.firstOfList + list : last] = place;
    this.#lasts[list] = place;
    this.#counts[list] = (this.#counts[list] as number) + 1;
    this.#slab[place + 1] = (this.#counts[LIST.stays] as number) - 1;
    return place + ITEM_NUMBERS;
  }

  #note(column: number, fact: string, quotes: number): void {
    const isPlain = PLAIN.test(fact);
    let text = fact;
    if (!isPlain) for (let quote = 0; quote < quotes; quote += 1) text = text.replace(TO_ESCAPE, "\\$&");
    this.#pieces.push(text);
    this.#slab[column] = this.#size * 2 + (isPlain ? 0 : 1);
    this.#size += Buffer.byteLength(text);
    this.#slab[column + 1] = this.#size;
  }
}

/** Where the facts of a record that was parsed stand, in a text that is made of them. Throws UnstorableFact. */
export function parsedSpans(resource: Resource, record: Value): RecordSpans {
  return new ParsedFacts().spans(resource, record);
}
