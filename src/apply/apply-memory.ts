import type pg from "pg";
import { NightLedger } from "../ledger/night-ledger.ts";
import { ContextWarnings } from "./context-warnings.ts";

/**
 * What a session that applies remembers of the database from one transaction to the next. All of it is written by the owner of
 * a bucket alone; `forget` after a transaction that failed, and when buckets were taken.
 */
export class ApplyMemory {
  readonly context: ContextWarnings;
  readonly ledger: NightLedger;

  /** `client` sees the state schema on its search path; `pool` is for shared settings. */
  constructor(pool: pg.Pool, client: pg.ClientBase) {
    this.context = new ContextWarnings(pool, client);
    this.ledger = new NightLedger(client);
  }

  /** Writes what this transaction named first; before its end. */
  async write(client: pg.ClientBase): Promise<void> {
    await this.context.write(client);
    await this.ledger.write();
  }

  forget(): void {
    this.context.forget();
    this.ledger.forget();
  }
}
