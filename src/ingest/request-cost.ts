import type { Principal } from "../identity/permissions.ts";
import type { RateResult } from "../identity/rate-limiter.ts";
import type { DataContext } from "./data-context.ts";

/**
 * A batch counts as one request of the client's rate per this many records, bytes or values, so that a rate of 50 requests per
 * second is also one of 5,000 records per second (docs/decisions/0008).
 */
const RECORDS_PER_REQUEST = 100;
/** 100 reservations of typical size. */
const BYTES_PER_REQUEST = 262_144;
/** JSON values: the CPU cost of a batch is determined by its bytes and its values (`npm run campaign -- token-cost`). */
const VALUES_PER_REQUEST = 20_000;

/** An invalid or future-dated record counts as this many: reporting its violations takes 40 µs, reading a valid record 12 µs. */
const UNUSABLE_RECORD_COST = 4;

interface RecordTotals {
  readonly records: number;
  readonly values: number;
}

const NO_RECORDS: RecordTotals = { records: 0, values: 0 };

/** The request cost of a batch. `unusable`: the invalid and future-dated records of `all`. */
export function costOf(bytes: number, all: RecordTotals, unusable: RecordTotals): number {
  const counted = (of: keyof RecordTotals) => all[of] + unusable[of] * (UNUSABLE_RECORD_COST - 1);
  return Math.max(
    1,
    Math.ceil(bytes / BYTES_PER_REQUEST),
    Math.ceil(counted("records") / RECORDS_PER_REQUEST),
    Math.ceil(counted("values") / VALUES_PER_REQUEST),
  );
}

/** Charges the client's rate for the difference to the cost charged before, and returns the rate if there is any. */
export type RequestCost = (
  bytes: number,
  all?: RecordTotals,
  unusable?: RecordTotals,
) => RateResult | undefined;

/**
 * Charges the cost of a batch as its bytes are announced and arrive, and once its records are known. A batch is not refused for its
 * own cost, but delays those that follow it.
 */
export function requestCost({ nodes, rateLimiter }: DataContext, principal: Principal): RequestCost {
  const { clientId, requestRate, requestBurst } = principal;
  // The request itself was counted on admission.
  let counted = 1;
  return (bytes, all = NO_RECORDS, unusable = NO_RECORDS) => {
    const more = costOf(bytes, all, unusable) - counted;
    if (more <= 0) return undefined;
    counted += more;
    return rateLimiter.charge(clientId, more, requestRate, requestBurst, nodes("accept"));
  };
}
