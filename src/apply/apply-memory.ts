import type pg from "pg";
import { readWindowMs } from "../ingest/log/partitions.ts";
import { ContextWarnings } from "./context-warnings.ts";
import { KeptLedger, NightLedger } from "./ledger/night-ledger.ts";
import { STATE_SCHEMA } from "./state/state-schema.ts";
import { VersionCover } from "./state/version-windows.ts";

/**
 * What a session that applies remembers of the database from one transaction to the next. All of it is written by the owner of
 * a bucket alone; `forget` after a transaction that failed, and when buckets were taken.
 */
export class ApplyMemory {
  readonly context: ContextWarnings;
  readonly ledger: NightLedger;
  readonly cover: VersionCover;

  /**
   * `client` sees the state schema on its search path; `pool` is for shared settings. Without `entersNights` nothing is entered
   * in the ledger: a replay that does not derive it.
   */
  constructor(
    pool: pg.Pool,
    client: pg.ClientBase,
    {
      schema = STATE_SCHEMA,
      entersNights = true,
    }: { readonly schema?: string; readonly entersNights?: boolean } = {},
  ) {
    this.context = new ContextWarnings(pool, client);
    this.ledger = entersNights ? new NightLedger(client) : new KeptLedger(client);
    this.cover = new VersionCover(pool, schema, readWindowMs);
  }

  /** Writes what this transaction named first; before its end. */
  async write(client: pg.ClientBase): Promise<void> {
    await this.context.write(client);
    await this.ledger.write();
  }

  forget(): void {
    this.context.forget();
    this.ledger.forget();
    this.cover.forget();
  }
}
