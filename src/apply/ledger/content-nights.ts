import { dayOfText } from "#contract/day-number.ts";
import { GROUP_BLOCKS_MAX } from "#contract/insight-bounds.ts";
import type { FactsText, RecordContent } from "#contract/record-reading.ts";
import type { RecordKey } from "../state/record-state.ts";
import { type CompactNights, compactOf } from "./compact-nights.ts";
import type { Dimension } from "./dimensions.ts";
import type { FactsOfContent, StoredContent } from "./load-contents.ts";
import {
  type BlockRun,
  boundedCount,
  type DimensionCodes,
  type NightRun,
  type ReservationNights,
} from "./night-run.ts";
import { elementsOf, fieldsOfRow } from "./read-facts.ts";
import { reservationNights } from "./reservation-nights.ts";

/** Where each column stands in a `bellhop.group_facts` (migration 0005). */
const COLUMN = {
  segment: 9,
  rateCode: 10,
  date: 11,
  roomType: 12,
  blocks: 13,
  pickup: 14,
  originalBlocks: 15,
  currency: 18,
} as const;

const countOf = (text: string | null | undefined): number | null =>
  text == null ? null : boundedCount(Number(text));

type Night = Omit<BlockRun, "nights">;

/** Whether a night goes on with a run. */
function goesOn(run: BlockRun, night: Night): boolean {
  return (
    run.codes === night.codes &&
    run.firstNight + run.nights === night.firstNight &&
    run.blocks === night.blocks &&
    run.pickedUp === night.pickedUp &&
    run.originalBlocks === night.originalBlocks
  );
}

/**
 * The nights of a group block master as its facts, its label and its code tell them, in runs that are alike: of one room type
 * and currency. A night that is named twice counts twice. Blocks are of the group that the master names. A master of more than insight
 * counts has none (`contract/insight-bounds.ts`).
 */
export function groupNights(facts: string, status: string | null, groupCode: string): BlockRun[] {
  const fields = fieldsOfRow(facts);
  const column = (name: keyof typeof COLUMN) => elementsOf(fields[COLUMN[name]]);
  const dates = column("date");
  if (dates.length > GROUP_BLOCKS_MAX) return [];
  const types = { roomType: column("roomType"), currency: column("currency") };
  const counts = {
    blocks: column("blocks"),
    pickup: column("pickup"),
    originalBlocks: column("originalBlocks"),
  };
  const kinds = new Map<string, { readonly codes: DimensionCodes; readonly nights: Night[] }>();
  dates.forEach((date, at) => {
    const [roomTypeCode, currencyCode] = [types.roomType[at] ?? null, types.currency[at] ?? null];
    const kind = JSON.stringify([roomTypeCode, currencyCode]);
    let known = kinds.get(kind);
    if (known === undefined) {
      const codes = {
        status,
        roomTypeCode,
        bookedRoomTypeCode: null,
        marketSegmentCode: fields[COLUMN.segment] ?? null,
        groupBlockCode: groupCode,
        rateCode: fields[COLUMN.rateCode] ?? null,
        channel: null,
        currencyCode,
      };
      known = { codes, nights: [] };
      kinds.set(kind, known);
    }
    known.nights.push({
      firstNight: dayOfText(date as string),
      blocks: countOf(counts.blocks[at]),
      pickedUp: countOf(counts.pickup[at]),
      originalBlocks: countOf(counts.originalBlocks[at]),
      codes: known.codes,
    });
  });
  const runs: BlockRun[] = [];
  for (const { nights } of kinds.values()) {
    nights.sort((left, right) => left.firstNight - right.firstNight);
    let last: BlockRun | undefined;
    for (const night of nights) {
      if (last !== undefined && goesOn(last, night)) {
        last = { ...last, nights: last.nights + 1 };
        runs[runs.length - 1] = last;
      } else {
        last = { ...night, nights: 1 };
        runs.push(last);
      }
    }
  }
  return runs;
}

/** The text of facts that have not been stored yet. */
function textOf(facts: FactsText): string {
  const bytes = Buffer.allocUnsafe(facts.bytesMax());
  return bytes.toString("utf8", 0, facts.write(bytes, 0));
}

/** A content of a key: of a record that is being applied, or stored, which is to be loaded before its nights are asked for. */
export class ContentNights {
  readonly stored: StoredContent | null;
  readonly contentHash: string;
  readonly #of: RecordKey;
  readonly #content: (() => RecordContent) | null;
  #loaded: FactsOfContent | undefined;
  #nights: ReservationNights | undefined;
  #compact: CompactNights | null | undefined;
  #blocks: readonly BlockRun[] | undefined;

  private constructor(
    of: RecordKey,
    contentHash: string,
    content: (() => RecordContent) | null,
    stored: StoredContent | null,
  ) {
    this.contentHash = contentHash;
    this.#of = of;
    this.#content = content;
    this.stored = stored;
  }

  static ofRecord(of: RecordKey, contentHash: string, content: () => RecordContent): ContentNights {
    return new ContentNights(of, contentHash, content, null);
  }

  /** `facts`, where they were loaded with the version. */
  static ofStored(stored: StoredContent, facts?: FactsOfContent): ContentNights {
    const content = new ContentNights(stored.of, stored.contentHash, null, stored);
    content.#loaded = facts;
    return content;
  }

  /** Of a stored reservation whose nights are known in short: its facts need not be loaded. */
  static ofCompact(stored: StoredContent, compact: CompactNights): ContentNights {
    const content = new ContentNights(stored.of, stored.contentHash, null, stored);
    content.#compact = compact;
    return content;
  }

  /** Whether it has to be loaded. */
  get isMissing(): boolean {
    return this.stored !== null && this.#loaded === undefined && this.#compact === undefined;
  }

  loaded(facts: FactsOfContent): void {
    this.#loaded = facts;
  }

  /** Of a reservation, its nights in short; null where they are not so plain. */
  compact(dimensionOf: (run: NightRun) => Dimension): CompactNights | null {
    if (this.#compact === undefined) this.#compact = compactOf(this.nights(), dimensionOf);
    return this.#compact;
  }

  /** Of a reservation. Not of one that is known in short only. */
  nights(): ReservationNights {
    this.#nights ??= this.#readNights();
    return this.#nights;
  }

  /** Of a group block master. */
  blocks(): readonly BlockRun[] {
    if (this.#blocks === undefined) {
      const { facts, status } = this.#text();
      this.#blocks = groupNights(facts, status, this.#of.key);
    }
    return this.#blocks;
  }

  #readNights(): ReservationNights {
    if (this.#content !== null) {
      const { facts, status } = this.#content();
      if (facts.spans !== undefined) return reservationNights(facts.spans, status);
    }
    const { facts, status } = this.#text();
    return reservationNights(facts, status);
  }

  #text(): FactsOfContent {
    if (this.#content !== null) {
      const { facts, status } = this.#content();
      return { facts: textOf(facts), status };
    }
    if (this.#loaded === undefined) throw new Error("A stored content was not loaded.");
    return this.#loaded;
  }
}
