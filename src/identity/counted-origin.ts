import { originOf } from "../platform/http/networks.ts";
import type { SharedTable } from "../platform/runtime/shared-memory.ts";

/** This many /64 networks of one /48 are counted separately; any further ones are counted together as the /48. */
const SUBNETS_OF_SITE = 8;

/** Minimum `numbers` per row of a table passed to `countedOrigin`. */
export const ORIGIN_NUMBERS = 2 * SUBNETS_OF_SITE;

/**
 * The network that an address is counted under: an IPv4 address itself; an IPv6 address's /64, or its /48 if many other /64 networks of
 * it were counted within the window, because a provider assigns a whole /48 to one customer. The table records those /64 networks.
 */
export function countedOrigin(table: SharedTable, address: string, now: number, windowMs: number): string {
  const { subnet, site, subnetNumber } = originOf(address);
  if (site === subnet) return subnet;
  const countsAlone = table.use(`subnets of ${site}`, now, (row) => {
    let free: number | undefined;
    for (let at = 0; at < ORIGIN_NUMBERS; at += 2) {
      if (row.isNew) row.set(at + 1, Number.NEGATIVE_INFINITY);
      const isCurrent = row.get(at + 1) > now - windowMs;
      if (isCurrent && row.get(at) === subnetNumber) {
        free = at;
        break;
      }
      if (!isCurrent) free ??= at;
    }
    if (free === undefined) return false;
    row.set(free, subnetNumber);
    row.set(free + 1, now);
    return true;
  });
  return countsAlone === true ? subnet : site;
}
