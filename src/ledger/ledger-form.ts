import type pg from "pg";
import { isDistributed } from "../db/distribution.ts";
import { hasLeftOlderVersions, NEWER_CONTENT } from "../db/oldest-version.ts";

/** How often a database is asked again on which older versions may still start. */
const ASK_AGAIN_MS = 60_000;

/**
 * Whether what plain reservations change may be written as exchanges: not where tables are distributed (rows are written by arrays of
 * their columns there, and none of these can be an array itself), and not while a version that reads entries only may start on the
 * database (docs/upgrades.md). Once it may, it may for ever.
 */
export class LedgerForm {
  #writesExchanges = false;
  #askedAtMs = Number.NEGATIVE_INFINITY;

  async writesExchanges(client: pg.ClientBase): Promise<boolean> {
    if (this.#writesExchanges || performance.now() - this.#askedAtMs < ASK_AGAIN_MS)
      return this.#writesExchanges;
    this.#writesExchanges =
      !(await isDistributed(client)) && (await hasLeftOlderVersions(client, NEWER_CONTENT.exchangesInLedger));
    this.#askedAtMs = performance.now();
    return this.#writesExchanges;
  }
}
