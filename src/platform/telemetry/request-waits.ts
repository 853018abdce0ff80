import { AsyncLocalStorage } from "node:async_hooks";

/**
 * What a request has waited for, in milliseconds each; what is left of its time was work of ours, or of others on the same
 * thread. Nothing waits for the budget of bodies: without room a request is refused at once.
 */
export interface RequestWaits {
  /** Its token had to be asked of the database. */
  authentication: number;
  /** Its body, from the first look at it to its last byte. */
  body: number;
  /** Its records were read and judged, with the turns that others had in between. */
  records: number;
  /** Statements, and connections of the pool or a turn among those of the same client; those at the same time count each. */
  database: number;
  /** A log writer that was free to write it. */
  logWriter: number;
  /** The commit that it shared. */
  flush: number;
  /** What it had asked to wait for: a change, or a batch to be applied. */
  asked: number;
  /** Its answer, until its client had taken it. */
  answer: number;
}

export type Wait = keyof RequestWaits;

/** Of a request that has waited for nothing yet. */
export function noWaits(): RequestWaits {
  return { authentication: 0, body: 0, records: 0, database: 0, logWriter: 0, flush: 0, asked: 0, answer: 0 };
}

/** The waits of the request that is being answered, for what is too far below to be handed them. */
const current = new AsyncLocalStorage<RequestWaits>();

/** Runs what answers a request: what it waits for from now on is counted as its waits. */
export function runWithWaits(waits: RequestWaits, answer: () => void): void {
  current.run(waits, answer);
}

/** The waits of the request that this is done for; undefined where it is done for none. */
export function currentWaits(): RequestWaits | undefined {
  return current.getStore();
}

/** All of them together. */
export function sumOfWaits(waits: RequestWaits): number {
  const { authentication, body, records, database, logWriter, flush, asked, answer } = waits;
  return authentication + body + records + database + logWriter + flush + asked + answer;
}

/** Of the waits that were not asked for, what took longest, and `work` where that was more than each. */
export function longestWait(waits: RequestWaits, elapsedMs: number): Wait | "work" {
  let longest: Wait | "work" = "work";
  let longestMs = elapsedMs - sumOfWaits(waits);
  for (const wait of Object.keys(waits) as Wait[]) {
    if (wait === "asked" || waits[wait] <= longestMs) continue;
    longest = wait;
    longestMs = waits[wait];
  }
  return longest;
}

/** Those that were there, to the tenth of a millisecond, for a line of the log. */
export function shownWaits(waits: RequestWaits): Readonly<Partial<Record<Wait, number>>> {
  const shown: Partial<Record<Wait, number>> = {};
  for (const wait of Object.keys(waits) as Wait[]) {
    const ms = Math.round(waits[wait] * 10) / 10;
    if (ms > 0) shown[wait] = ms;
  }
  return shown;
}
