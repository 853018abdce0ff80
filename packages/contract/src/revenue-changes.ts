import { placeAbove } from "./place-above.ts";

/** Changes that any reservation may have, besides two for each of its stays and each of its days of revenue. */
export const CHANGES_OF_ANY = 50;

/** The days on which reported revenue begins or ends, ascending. */
function changesOf(ascending: readonly number[]): number[] {
  const changes: number[] = [];
  for (const [at, day] of ascending.entries()) {
    if (ascending[at - 1] !== day - 1) changes.push(day);
    if (ascending[at + 1] !== day + 1) changes.push(day + 1);
  }
  return changes;
}

/**
 * Whether daily revenue begins and ends so often within stays that share nights that insight leaves out their rates. Each change divides
 * the nights of every stay that it lies in, if they have rates: ten kilobytes could otherwise make ten thousand entries of the night
 * ledger. Stays that share no night never change too often. All numbers are days since any date; `revenueDays` may repeat and be in any
 * order. O(n log n).
 */
export function changesTooOften(
  stays: readonly (readonly [arrival: number, departure: number])[],
  revenueDays: Iterable<number>,
): boolean {
  const days = [...new Set(revenueDays)].sort((one, other) => one - other);
  const most = 2 * (stays.length + days.length) + CHANGES_OF_ANY;
  const changes = changesOf(days);
  let count = 0;
  for (const [arrival, departure] of stays) {
    count += Math.max(0, placeAbove(changes, departure - 1) - placeAbove(changes, arrival));
    if (count > most) return true;
  }
  return false;
}
