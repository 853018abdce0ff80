import type pg from "pg";
import { readStatement } from "../db/statement.ts";
import type { Lease, LeaseSession, LockedLease } from "./ownership.ts";

const takeBuckets = readStatement(new URL("./sql/take-buckets.sql", import.meta.url));
const giveUpBuckets = readStatement(new URL("./sql/give-up-buckets.sql", import.meta.url));
const lockBuckets = readStatement(new URL("./sql/lock-buckets.sql", import.meta.url));

/** The leases of buckets as PostgreSQL keeps them, by way of one connection, which holds what it takes. */
export class LeaseStatements implements LeaseSession {
  protected readonly client: pg.ClientBase;

  constructor(client: pg.ClientBase) {
    this.client = client;
  }

  async takeBuckets(owner: string, free: readonly Lease[]): Promise<Lease[]> {
    const values = [owner, JSON.stringify(free)];
    return (await this.client.query<Lease>({ ...takeBuckets, values })).rows;
  }

  giveUpBuckets(buckets: readonly number[]): Promise<unknown> {
    return this.client.query({ ...giveUpBuckets, values: [buckets] });
  }

  async lockBuckets(buckets: readonly number[]): Promise<LockedLease[]> {
    return (await this.client.query<LockedLease>({ ...lockBuckets, values: [buckets] })).rows;
  }
}
