import { contentRuns } from "./content-hash.ts";
import { elementsOf, factsOfText } from "./facts-text.ts";
import { FIELD_KINDS } from "./field-kinds.ts";
import { ALL_NAMES, inspectElement } from "./inspect-element.ts";
import {
  HEAD,
  HEAD_NUMBERS,
  ITEM_NUMBERS,
  keptOf,
  LIST,
  LISTS,
  NOTED,
  type NotedObject,
  SOUGHT,
} from "./record-plan.ts";
import type { Resource } from "./resource.ts";
import type { FieldSchema } from "./schema/field.ts";
import { RECORD_SCHEMAS } from "./schema/record-schemas.ts";
import { misspeltFields } from "./similar-fields.ts";
import { COLUMN_BYTES, type RecordSpans } from "./walk-record.ts";

/** Accepted bytes are not a valid record: a bug (validation and reading disagree) or corruption. */
export class UnreadableRecord extends Error {}

/** A valid value that its PostgreSQL type would not read (a bug). Once stored, it would fail every view over it. */
export class UnstorableFact extends Error {}

type Value = Readonly<Record<string, unknown>>;

/** ASCII texts that need no quotes in arrays. */
const PLAIN = /^[!#-'*+\-.-[\]-z|~]+$/;
/** Bytes per byte of text in an element of a list. */
const ESCAPED_BYTES_MAX = 4;

/** The spans of a parsed record or of stored facts, as from `walkSpans`, over a text of their own. */
class ParsedSpans {
  readonly #slab: number[] = [];
  /** Starts with a byte because offset 0 means "absent". */
  readonly #pieces: string[] = [" "];
  #size = 1;
  readonly #counts = new Array<number>(LISTS).fill(0);
  readonly #lasts = new Array<number>(LISTS).fill(0);

  spans(resource: Resource, record: Value): RecordSpans {
    const noted = NOTED[resource];
    this.#take(numbersOf(noted, HEAD_NUMBERS));
    this.#object(noted, RECORD_SCHEMAS[resource], record, 0, HEAD_NUMBERS);
    const misspelt = misspeltFields(RECORD_SCHEMAS[resource], record);
    return misspelt.count === 0 ? this.#made() : { ...this.#made(), misspelt };
  }

  /** `replaced`: facts to be read as another text where they are present. */
  ofFacts(resource: Resource, facts: string, replaced: ReadonlyMap<number, string>): RecordSpans {
    this.#take(numbersOf(NOTED[resource], HEAD_NUMBERS));
    this.#facts(NOTED[resource], factsOfText(facts), replaced);
    return this.#made();
  }

  #made(): RecordSpans {
    this.#slab[HEAD.factsBytesMax] = ESCAPED_BYTES_MAX * this.#size + COLUMN_BYTES * this.#slab.length;
    return { bytes: Buffer.from(this.#pieces.join("")), slab: Int32Array.from(this.#slab), base: 0 };
  }

  #take(numbers: number): number {
    const place = this.#slab.length;
    for (let number = 0; number < numbers; number += 1) this.#slab.push(0);
    return place;
  }

  #object(noted: NotedObject, schema: FieldSchema, value: Value, item: number, front: number): void {
    const { sought = [], head = {}, inner = {} } = noted;
    const fields = schema.properties ?? {};
    const note = (name: string, place: number) => {
      const fact = value[name];
      if (fact === undefined || fact === null) return;
      const { fieldKind } = fields[name] as FieldSchema;
      const text = FIELD_KINDS[fieldKind].fact?.(fact);
      if (text === undefined) throw new UnstorableFact(`A fact is no ${fieldKind}.`);
      if (text !== null) this.#note(place, text);
    };
    for (const [at, name] of [...keptOf(noted), ...sought].entries()) note(name, item + front + 2 * at);
    for (const [name, place] of Object.entries(head)) note(name, place);
    for (const [name, within] of Object.entries(inner)) {
      const member = value[name] ?? [];
      const { items } = fields[name] as FieldSchema;
      if (items === undefined) this.#object(within, fields[name] as FieldSchema, member as Value, 0, 0);
      else
        for (const one of member as readonly Value[])
          this.#object(within, items, one, this.#newItem(within), ITEM_NUMBERS);
      if (name === "roomTypeInventories") this.#slab[HEAD.regularRooms] = this.#counts[LIST.rooms] as number;
    }
  }

  #facts(
    noted: NotedObject,
    facts: readonly (string | null | undefined)[],
    replaced: ReadonlyMap<number, string>,
  ): void {
    const { columns = {}, stayColumn, list, inner = {} } = noted;
    const numbers = Object.values(columns);
    const own = numbers.map((column) => facts[column]);
    const others = numbers.map((column) => replaced.get(column));
    const noteAll = (texts: readonly (string | null | undefined)[], place: number) => {
      for (const [at, text] of texts.entries())
        if (text != null) this.#note(place + 2 * at, others[at] ?? text);
    };
    if (list === undefined) noteAll(own, HEAD_NUMBERS);
    else {
      const lists = own.map(elementsOf);
      const stays = stayColumn === undefined ? [] : elementsOf(facts[stayColumn]);
      const items = Math.max(...[stays, ...lists].map(({ length }) => length));
      for (let at = 0; at < items; at += 1) {
        const item = this.#newItem(noted);
        if (stayColumn !== undefined) this.#slab[item + 1] = Number(stays[at]);
        noteAll(
          lists.map((elements) => elements[at]),
          item + ITEM_NUMBERS,
        );
      }
    }
    for (const within of Object.values(inner)) this.#facts(within, facts, replaced);
  }

  /** Adds an item to its list and returns its place; see `newItem` of walk-record. */
  #newItem(noted: NotedObject): number {
    const list = noted.list as number;
    const place = this.#take(numbersOf(noted, ITEM_NUMBERS));
    const last = this.#lasts[list] as number;
    this.#slab[last === 0 ? HEAD.firstOfList + list : last] = place;
    this.#lasts[list] = place;
    this.#counts[list] = (this.#counts[list] as number) + 1;
    this.#slab[place + 1] = (this.#counts[LIST.stays] as number) - 1;
    return place;
  }

  #note(place: number, fact: string): void {
    this.#pieces.push(fact);
    this.#slab[place] = this.#size * 2 + (PLAIN.test(fact) ? 0 : 1);
    this.#size += Buffer.byteLength(fact);
    this.#slab[place + 1] = this.#size;
  }
}

function numbersOf(noted: NotedObject, front: number): number {
  return front + 2 * (keptOf(noted).length + (noted.sought?.length ?? 0));
}

/** The spans of a parsed record. Throws UnstorableFact, or UnreadableRecord if it is not valid. */
export function spansOf(resource: Resource, record: Value): RecordSpans {
  try {
    return new ParsedSpans().spans(resource, record);
  } catch (error) {
    if (error instanceof UnstorableFact) throw error;
    throw new UnreadableRecord("An accepted record cannot be read again.", { cause: error });
  }
}

const NOTHING_REPLACED: ReadonlyMap<number, string> = new Map();

/** The spans of stored facts: only the columns of NOTED. `replaced`: facts to be read as another text where they are present. */
export function spansOfFacts(
  resource: "reservations" | "groups",
  facts: string,
  replaced = NOTHING_REPLACED,
): RecordSpans {
  return new ParsedSpans().ofFacts(resource, facts, replaced);
}

export interface ParsedRecord {
  /** The texts of SOUGHT, in their order. */
  readonly sought: readonly string[];
  readonly runs: readonly number[];
  /** See `spansOf`. */
  readonly spans: () => RecordSpans;
}

/** Parses an accepted record that the walk cannot decide. Throws UnreadableRecord. */
export function parseRecord(resource: Resource, bytes: Buffer): ParsedRecord {
  const order = { index: 0, violationsMax: 0, keeps: ALL_NAMES, namesAreSound: true };
  const { fault, value } = inspectElement(bytes, 0, bytes.length, order);
  if (fault !== undefined || typeof value !== "object" || value === null)
    throw new UnreadableRecord("An accepted record cannot be read again.");
  const record = value as Value;
  const { sought = [], notContent = [] } = NOTED[resource];
  const texts = sought.map((name) => record[name]);
  if (texts.slice(0, SOUGHT.status).some((text) => typeof text !== "string"))
    throw new UnreadableRecord("A record has no identity or source time.");
  return {
    sought: texts as string[],
    runs: contentRuns(bytes, notContent),
    spans: () => spansOf(resource, record),
  };
}
