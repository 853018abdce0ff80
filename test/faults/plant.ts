/**
 * Faults to plant in the service, so that it can be seen that the harness finds them. Loaded before the service by
 * `--import plant.ts?fault=<name>`; the service's own files stay as they are.
 */
import pg from "pg";
import { AcceptLog } from "../../src/accept/accept-log.ts";
import { type FlushResult, Lane } from "../../src/accept/lane.ts";
import { RequestIdStamp } from "../../src/accept/request-id.ts";

/** Answers 202 before the commit: what is on its way when the service is killed is lost. */
function answerBeforeCommit(): void {
  const stamp = RequestIdStamp.prototype.next;
  let stamped: string[] = [];
  RequestIdStamp.prototype.next = function (this: RequestIdStamp) {
    const requestId = stamp.call(this);
    stamped.push(requestId);
    return requestId;
  };
  const flush = Lane.prototype.flush;
  Lane.prototype.flush = async function (this: Lane, appends) {
    stamped = [];
    // The ids are stamped before the first turn of the loop.
    flush.call(this, appends).catch(() => undefined);
    return stamped.map((requestId): FlushResult => ({ kind: "written", requestId }));
  };
}

/** Forgets Idempotency-Keys: a batch that is repeated after a lost answer is stored twice. */
function forgetKeys(): void {
  const append = AcceptLog.prototype.append;
  AcceptLog.prototype.append = function (this: AcceptLog, submission) {
    return append.call(this, { ...submission, idempotency: null });
  };
}

/** Answers once PostgreSQL has the commit in memory: a PostgreSQL that is killed whole loses it. */
function commitInMemory(): void {
  const query = pg.Client.prototype.query as (this: pg.Client, ...args: unknown[]) => unknown;
  const weakened = new WeakSet<pg.Client>();
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const { application_name: name } = (this as unknown as LaneConnection).connectionParameters;
    if (name === "bellhop accept" && !weakened.has(this)) {
      weakened.add(this);
      void query.call(this, "set synchronous_commit = off");
    }
    return query.apply(this, args);
  } as typeof pg.Client.prototype.query;
}

/** What pg's types leave out. */
interface LaneConnection {
  readonly connectionParameters: { readonly application_name: string };
}

export const PLANTED_FAULTS = {
  "answer-before-commit": answerBeforeCommit,
  "forget-keys": forgetKeys,
  "commit-in-memory": commitInMemory,
} as const;

export type PlantedFault = keyof typeof PLANTED_FAULTS;

const fault = new URL(import.meta.url).searchParams.get("fault");
if (fault !== null) PLANTED_FAULTS[fault as PlantedFault]();
