import { microsecondTimestamp } from "./calendar.ts";
import { LIST, SOUGHT } from "./noted-fields.ts";
import { contentHash, parsedReading } from "./parsed-record.ts";
import type { FactsText, RecordContent, RecordReading } from "./record-reading.ts";
import type { Resource } from "./resource.ts";
import { HEAD_NUMBERS, ITEM_NUMBERS, SOUGHT_FROM } from "./span-plan.ts";
import { TextMemory } from "./text-memory.ts";
import { HEAD, RecordBytes, type RecordSpans, runsFound, walkHead, walkSpans } from "./walk-spans.ts";
import type { Warning } from "./warning.ts";
import { factsBytesMax, writeFacts } from "./write-facts.ts";

const texts = new TextMemory();
const times = new TextMemory();

/** Items of a list that are compared with one another one by one; of more a set is made. */
const COMPARED_MAX = 16;
const DATES_REMEMBERED_MAX = 10_000;
const dates = new Map<number, string>();

/** The text of a date YYYYMMDD. */
function dateText(date: number): string {
  let text = dates.get(date);
  if (text === undefined) {
    const digits = String(date).padStart(8, "0");
    text = `${digits.slice(0, 4)}-${digits.slice(4, 6)}-${digits.slice(6)}`;
    if (dates.size >= DATES_REMEMBERED_MAX) dates.clear();
    dates.set(date, text);
  }
  return text;
}

/** The text of a sought member that must be there, out of a memory where the same comes again. */
function soughtText(
  { bytes, slab, base }: RecordSpans,
  from: number,
  sought: number,
  memory?: TextMemory,
): string {
  const place = base + from + 2 * sought;
  const start = (slab[place] as number) >>> 1;
  const end = slab[place + 1] as number;
  return memory === undefined ? bytes.toString("utf8", start, end) : memory.textAt(bytes, start, end);
}

/** The first and the last date that a record is about. */
function dateRange({ slab, base }: RecordSpans): readonly [string, string] {
  return [dateText(slab[base + HEAD.fromDate] as number), dateText(slab[base + HEAD.toDate] as number)];
}

/** Where the code of a room type stands among an item's columns. */
const ROOM_TYPE_COLUMN: Readonly<Record<Resource, number>> = { inventories: 0, reservations: 2, groups: 1 };
/** The list that names room types. */
const ROOMS_LIST: Readonly<Record<Resource, number>> = {
  inventories: LIST.rooms,
  reservations: LIST.stays,
  groups: LIST.blocks,
};

/** The room types of the record before, of each resource: most often those of the next. */
const lastRoomTypes: Record<Resource, readonly string[]> = { inventories: [], reservations: [], groups: [] };

/** The room types that a record names, each once, in order of appearance; whether one is named twice. */
function roomTypesOf(
  resource: Resource,
  spans: RecordSpans,
): { readonly codes: readonly string[]; readonly isRepeated: boolean } {
  const { bytes, slab, base } = spans;
  const column = base + ITEM_NUMBERS + 2 * ROOM_TYPE_COLUMN[resource];
  const last = lastRoomTypes[resource];
  let others: string[] | undefined;
  let previous: string | undefined;
  let isRepeated = false;
  let same = 0;
  const first = slab[base + HEAD.firstOfList + ROOMS_LIST[resource]] as number;
  for (let item = first; item !== 0; item = slab[base + item] as number) {
    const code = texts.textAt(
      bytes,
      (slab[item + column] as number) >>> 1,
      slab[item + column + 1] as number,
    );
    // Blocks of one room type stand together, one a date.
    if (code === previous) isRepeated = true;
    else if (others !== undefined) others.push(code);
    else if (last[same] === code) same += 1;
    else others = [...last.slice(0, same), code];
    previous = code;
  }
  if (others === undefined) return { codes: same === last.length ? last : last.slice(0, same), isRepeated };
  const codes = distinct(others);
  lastRoomTypes[resource] = codes;
  return { codes, isRepeated: isRepeated || codes.length < others.length };
}

function distinct(all: string[]): readonly string[] {
  if (all.length > COMPARED_MAX) return [...new Set(all)];
  for (let at = 1; at < all.length; at += 1)
    if (all.indexOf(all[at] as string) < at) return [...new Set(all)];
  return all;
}

/** Batches often name one time throughout. */
let lastTime = "";
let lastTimeRead = "";

function timeOf(text: string): string {
  if (text !== lastTime) {
    lastTime = text;
    lastTimeRead = microsecondTimestamp(text);
  }
  return lastTimeRead;
}

class WalkedFacts implements FactsText {
  readonly #resource: Resource;
  readonly spans: RecordSpans;

  constructor(resource: Resource, spans: RecordSpans) {
    this.#resource = resource;
    this.spans = spans;
  }

  bytesMax(): number {
    return factsBytesMax(this.spans);
  }

  write(to: Buffer, at: number): number {
    return writeFacts(this.#resource, this.spans, to, at);
  }
}

const NO_WARNINGS: readonly Warning[] = [];

/** Undefined where there is something to be warned of. */
function walkedContent(resource: Resource, spans: RecordSpans): RecordContent | undefined {
  const { codes, isRepeated } = roomTypesOf(resource, spans);
  if (isRepeated && resource === "inventories") return undefined;
  const [fromDate, toDate] = dateRange(spans);
  return {
    status:
      resource === "inventories" ? null : soughtText(spans, SOUGHT_FROM[resource], SOUGHT.status, texts),
    fromDate,
    toDate,
    roomTypeCodes: codes,
    facts: new WalkedFacts(resource, spans),
    warnings: NO_WARNINGS,
  };
}

/**
 * Reads one accepted record: the bytes of a record that `checkRecord` found valid, as they were sent. The same bytes always
 * give the same reading, so a replay derives what apply derived. Throws UnreadableRecord where they name no identity or
 * source time.
 */
export function readRecord(resource: Resource, bytes: Buffer): RecordReading {
  return new RecordReader(resource, bytes).read(0, bytes.length);
}

/** Reads the records that lie end to end in some bytes, in their order, each as `readRecord` does. */
export class RecordReader {
  readonly #resource: Resource;
  readonly #records: RecordBytes;

  constructor(resource: Resource, bytes: Buffer) {
    this.#resource = resource;
    this.#records = new RecordBytes(bytes);
  }

  /** What comes after the head is walked over when the content is asked for: nine of ten records of a nightly push are known by then. */
  read(start: number, end: number): RecordReading {
    const head = walkHead(this.#resource, this.#records, start, end);
    if (head !== undefined) return this.#walked(head, HEAD_NUMBERS, undefined, start, end);
    const spans = walkSpans(this.#resource, this.#records, start, end);
    return spans === undefined
      ? this.#parsed(start, end)
      : this.#walked(spans, SOUGHT_FROM[this.#resource], spans, start, end);
  }

  /** The reading of a record of which `known` was walked over just now; what is sought stands from `from` on. */
  #walked(
    known: RecordSpans,
    from: number,
    spans: RecordSpans | undefined,
    start: number,
    end: number,
  ): RecordReading {
    let content: RecordContent | undefined;
    return {
      clientCode: soughtText(known, from, SOUGHT.clientCode, texts),
      propertyCode: soughtText(known, from, SOUGHT.propertyCode, texts),
      key: soughtText(known, from, SOUGHT.key),
      sourceTime: timeOf(soughtText(known, from, SOUGHT.sourceTime, times)),
      contentHash: contentHash(known.bytes, runsFound()),
      content: () => (content ??= this.#content(spans, start, end)),
    };
  }

  #content(known: RecordSpans | undefined, start: number, end: number): RecordContent {
    const spans = known ?? walkSpans(this.#resource, this.#records, start, end);
    const walked = spans === undefined ? undefined : walkedContent(this.#resource, spans);
    return walked ?? this.#parsed(start, end).content();
  }

  #parsed(start: number, end: number): RecordReading {
    return parsedReading(this.#resource, this.#records.bytes.subarray(start, end));
  }
}
