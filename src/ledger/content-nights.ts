import type { FactsText, RecordContent } from "../contract/record-reading.ts";
import type { RecordKey } from "../state/record-state.ts";
import { groupNights } from "./block-runs.ts";
import { type BriefNights, briefOf } from "./brief-nights.ts";
import type { Dimension } from "./dimensions.ts";
import type { FactsOfContent, StoredContent } from "./load-contents.ts";
import type { BlockRun, NightRun, ReservationNights } from "./night-run.ts";
import { spanNights } from "./span-nights.ts";
import { reservationNights } from "./stay-runs.ts";
import { textNights } from "./text-nights.ts";

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
  #brief: BriefNights | null | undefined;
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
  static ofBrief(stored: StoredContent, brief: BriefNights): ContentNights {
    const content = new ContentNights(stored.of, stored.contentHash, null, stored);
    content.#brief = brief;
    return content;
  }

  /** Whether it has to be loaded. */
  get isMissing(): boolean {
    return this.stored !== null && this.#loaded === undefined && this.#brief === undefined;
  }

  loaded(facts: FactsOfContent): void {
    this.#loaded = facts;
  }

  /** Of a reservation, its nights in short; null where they are not so plain. */
  brief(dimensionOf: (run: NightRun) => Dimension): BriefNights | null {
    if (this.#brief === undefined) this.#brief = briefOf(this.nights(), dimensionOf);
    return this.#brief;
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
      const plain = facts.spans === undefined ? undefined : spanNights(facts.spans, status);
      if (plain !== undefined) return plain;
    }
    const { facts, status } = this.#text();
    return textNights(facts, status) ?? reservationNights(facts, status);
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
