import { originOf } from "../platform/http/networks.ts";
import type { SharedTable } from "../platform/runtime/shared-table.ts";

/** So many /64 of one /48 are counted each on its own; more of them count together, as that /48. */
const SUBNETS_OF_SITE = 8;

/** How many numbers the rows of a table have at least that `countedOrigin` is given. */
export const ORIGIN_NUMBERS = 2 * SUBNETS_OF_SITE;

/**
 * What an address counts as: an address of IPv4 as itself; one of IPv6 as its /64, and as its /48 where many other /64 of that were
 * counted within the window, since a provider gives a whole /48 to one customer. The table keeps which /64 those are.
 */
export function countedOrigin(table: SharedTable, address: string, now: number, windowMs: number): string {
  const { subnet, site } = originOf(address);
  if (site === undefined) return subnet;
  const { network, subnetNumber } = site;
  const countsAlone = table.use(`subnets of ${network}`, now, (row) => {
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
  return countsAlone === true ? subnet : network;
}
