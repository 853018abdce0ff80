// Records of one key in an order of receipt and an order of applying, and the result according to the contract.
import fc from "fast-check";
import type { Incoming, Receipt } from "../../src/apply/state/record.ts";

/** A received record of one key: its place in the order of receipt, its source time and its content. */
export interface Received {
  readonly place: number;
  readonly time: number;
  readonly content: number;
}

/** In the order of receipt. Few times and contents, so that equal ones are common. */
export const receipts = fc
  .array(fc.record({ time: fc.nat(3), content: fc.nat(2) }), { minLength: 1, maxLength: 12 })
  .map((records) => records.map((record, place): Received => ({ ...record, place })));
/** The same records as received, and in the order in which log writers happen to give them to apply. */
export const applyings = receipts.chain((received) =>
  fc.record({
    received: fc.constant(received),
    applied: fc.shuffledSubarray(received, { minLength: received.length }),
  }),
);

/** As it comes from the log. Two records share a request, so that the index decides too. */
export function incomingOf({ place, time, content }: Received): Incoming {
  const request = (place >> 1).toString(16).padStart(8, "0");
  return {
    sourceTime: `2026-01-01T00:00:0${time}.000000Z`,
    contentHash: `0${content}`,
    requestId: `${request}-0000-7000-8000-000000000000`,
    index: place & 1,
    content: () => ({ status: null, fromDate: "2026-01-01", toDate: "2026-01-02" }),
  };
}

/** The place in the order of receipt that a receipt of `incomingOf` stands for. */
export function placeOf({ requestId, index }: Receipt): number {
  return Number.parseInt(requestId.slice(0, 8), 16) * 2 + index;
}

/** Versions as sorted texts of source time, content and `@` place, and the current one. */
export interface Ending {
  readonly versions: readonly string[];
  readonly current: string;
}

/** The contract, in the plainest way: each version received when its first copy was; the greatest (time, receipt) is current. */
export function contractOf(received: readonly Received[]): Ending {
  const firsts = received.filter(
    (record) =>
      !received.some(
        (other) =>
          other.place < record.place && other.time === record.time && other.content === record.content,
      ),
  );
  const newest = firsts.toSorted((left, right) => left.time - right.time || left.place - right.place).at(-1);
  const described = (record: Received): string => {
    const { sourceTime, contentHash } = incomingOf(record);
    return `${sourceTime} ${contentHash} @${record.place}`;
  };
  return {
    versions: firsts.map(described).sort(),
    current: newest === undefined ? "" : described(newest),
  };
}
