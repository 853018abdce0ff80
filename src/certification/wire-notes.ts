import type pg from "pg";
import { namedStatement } from "../platform/db/statement.ts";
/** A violation or the like, as it was told to the partner: safe to keep and to show. */
export interface ToldViolation {
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
}

/** What a client under certification did on the wire that its records do not tell, by kind. */
export interface WireDetails {
  /** It took a token, which lives for so many seconds. */
  readonly token: { readonly seconds: number };
  /** It asked for a token too many and was refused. */
  readonly "token-limited": Readonly<Record<never, never>>;
  /** It sent a genuine token past its end. */
  readonly "token-expired": Readonly<Record<never, never>>;
  /** It was told to come again later: 429. */
  readonly "rate-limited": { readonly retryAfterSeconds: number };
  /** A batch was refused: 400 to 422, and 403 of a property or scope that it has not. */
  readonly refused: {
    readonly resource: string;
    readonly status: number;
    readonly code: string;
    /** The first ones. */
    readonly violations: readonly ToldViolation[];
  };
  /** The same batch came again under its Idempotency-Key and was answered with its first id. */
  readonly repeated: { readonly requestId: string };
  /** A batch was accepted that had a key, was lenient or compressed. */
  readonly sent: {
    readonly requestId: string;
    readonly keyed: boolean;
    readonly lenient: boolean;
    readonly encoding: string | null;
  };
}

export type WireKind = keyof WireDetails;

/** An event that is to be noted. */
export type WireEvent = {
  [Kind in WireKind]: { readonly kind: Kind; readonly detail: WireDetails[Kind] };
}[WireKind];

/** An event as it was noted: when, in UTC to the microsecond. */
export type NotedEvent = WireEvent & { readonly at: string };

/** The events of one kind, in their order. */
export function eventsOf<Kind extends WireKind>(
  events: readonly NotedEvent[],
  kind: Kind,
): readonly (WireDetails[Kind] & { readonly at: string })[] {
  return events.flatMap((event) =>
    event.kind === kind ? [{ ...(event.detail as WireDetails[Kind]), at: event.at }] : [],
  );
}

/** Notes events of certifications, as long as fewer than $2 of their kind are kept: beyond it by at most one statement's. */
const INSERT_EVENTS = namedStatement(
  "insert-events",
  `insert into bellhop.certification_event (certification_id, kind, noted_at, detail)
  select event.certification_id, event.kind, to_timestamp(event.at_ms / 1000), event.detail
  from json_to_recordset($1::json) as event (certification_id uuid, kind text, at_ms float8, detail json)
  join bellhop.certification using (certification_id)
  where (
    select count(*) from bellhop.certification_event as kept
    where kept.certification_id = event.certification_id and kept.kind = event.kind
  ) < $2::integer`,
);

/** Most events of one kind that are kept of a certification: a loop that never ends must not push out the other kinds. */
const EVENTS_OF_A_KIND_MAX = 1_000;
/** Events that may wait in memory, all clients together; what comes beyond is not noted. */
const WAITING_MAX = 1_000;
const WRITTEN_AT_ONCE = 100;

interface Waiting {
  readonly certification_id: string;
  readonly kind: string;
  readonly at_ms: number;
  readonly detail: object;
}

/**
 * Notes what clients under certification do on the wire. Whoever notes never waits and is never failed: events are written
 * behind its back, one statement at a time, and dropped where that cannot be.
 */
export class WireNotes {
  readonly #pool: pg.Pool;
  readonly #now: () => number;
  readonly #failed: (error: unknown) => void;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;

  /** `now` is the database's clock, in ms since 1970, so that events and receipts are told by one. */
  constructor(pool: pg.Pool, now: () => number, failed: (error: unknown) => void) {
    this.#pool = pool;
    this.#now = now;
    this.#failed = failed;
  }

  /** Notes one event of a certification. */
  note(certificationId: string, { kind, detail }: WireEvent): void {
    if (this.#waiting.length >= WAITING_MAX) return;
    this.#waiting.push({ certification_id: certificationId, kind, at_ms: this.#now(), detail });
    this.#writing ??= this.#write();
  }

  /** Resolves when everything that was noted before is written, or could not be. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    // What one turn of the loop notes goes in one statement.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const events = this.#waiting.slice(0, WRITTEN_AT_ONCE);
      this.#waiting = this.#waiting.slice(WRITTEN_AT_ONCE);
      try {
        await this.#pool.query({ ...INSERT_EVENTS, values: [JSON.stringify(events), EVENTS_OF_A_KIND_MAX] });
      } catch (error) {
        this.#failed(error);
      }
    }
    this.#writing = undefined;
  }
}
