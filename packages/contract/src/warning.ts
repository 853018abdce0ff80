/**
 * Every doubt that is told and never refused: a stable code and what it means. A code is never reused or renamed;
 * `docs/records.md` lists the same ones (a test holds it to this table).
 */
export const WARNING_CODES = {
  "inventory.oversold": "roomsSold is above the capacity less the rooms not available. Overbooking is legal.",
  "inventory.sold-split": "transientSold and groupSold do not add up to roomsSold.",
  "inventory.room-type-repeated": "A room type is named twice for one date.",
  "inventory.too-many-room-types":
    "More than 1,000 room types, virtual ones included: insight leaves the record out.",
  "count.negative": "A count is below zero.",
  "reservation.revenue-total": "netTotalRevenue of a day is not the sum of that day's net parts.",
  "reservation.revenue-summary": "The summary is not the sum of the days.",
  "reservation.outside-stay": "A date of a rate, service or revenue lies outside the stay.",
  "reservation.too-many-nights":
    "A room stay has more than 1,100 nights, or all stays together more than 11,000: insight leaves the reservation out.",
  "group.pickup-above-blocks": "More rooms were picked up than were blocked.",
  "group.outside-dates": "A block's date lies outside the group's start and end.",
  "group.too-many-blocks": "More than 11,000 group blocks: insight leaves the group's blocks out.",
  "status.unmapped":
    "The status label is not mapped: it is kept, counted on its own, and does not hold inventory.",
  "room-type.unknown": "The property's inventory feed never named this room type.",
  "warnings.more": "The record has more warnings than are kept.",
} as const;

export type WarningCode = keyof typeof WARNING_CODES;

/** One doubt about an accepted record. `pointer` is an RFC 6901 JSON pointer into the record (`/roomStays/0`). */
export interface Warning {
  readonly pointer: string;
  readonly code: WarningCode;
  readonly message: string;
}

// A record may have 100,000 blocks; a partner learns nothing from the 101st warning, and outcomes are stored.
const WARNINGS_KEPT_MAX = 100;

/** Collects the warnings of one record: at most 100 are kept, and one more says how many were not. */
export class WarningList {
  readonly #kept: Warning[] = [];
  #total = 0;

  /** Adds a warning at a path within the record. */
  add(code: WarningCode, path: readonly (string | number)[], message: string): void {
    this.#total += 1;
    if (this.#kept.length >= WARNINGS_KEPT_MAX) return;
    this.#kept.push({ pointer: path.map((step) => `/${step}`).join(""), code, message });
  }

  /** Adds what another list has listed, and what it has only counted. */
  addListed(listed: readonly Warning[]): void {
    for (const warning of listed) {
      if (warning.code === "warnings.more") {
        // Written below: it begins with the number.
        this.#total += Number.parseInt(warning.message, 10);
        continue;
      }
      this.#total += 1;
      if (this.#kept.length < WARNINGS_KEPT_MAX) this.#kept.push(warning);
    }
  }

  /** The warnings, in the order in which they were found. */
  toArray(): readonly Warning[] {
    const more = this.#total - this.#kept.length;
    if (more === 0) return this.#kept;
    return [
      ...this.#kept,
      { pointer: "", code: "warnings.more", message: `${more} more warnings are not listed` },
    ];
  }
}
