import type pg from "pg";
import { namedStatement } from "../platform/db/statement.ts";
import type { ErrorDetail } from "../platform/errors/registry.ts";

/** Details of the protocol events that are recorded for a client under certification, by kind. */
export interface WireDetails {
  /** A token was issued, with this lifetime. */
  readonly token: { readonly seconds: number };
  /** A token was refused by the rate limit. */
  readonly "token-limited": Readonly<Record<never, never>>;
  /** A genuine token was sent after its expiry. */
  readonly "token-expired": Readonly<Record<never, never>>;
  /** A request was answered 429. */
  readonly "rate-limited": { readonly retryAfterSeconds: number };
  /** A batch was refused: 400 to 422, or 403 for a missing grant or scope. */
  readonly refused: {
    readonly resource: string;
    readonly status: number;
    readonly code: string;
    /** The first violations, as the partner received them; safe to store and show. */
    readonly violations: readonly ErrorDetail[];
  };
  /** A batch was repeated with its Idempotency-Key. */
  readonly repeated: { readonly requestId: string };
  /** How an accepted batch was sent. */
  readonly sent: {
    readonly requestId: string;
    readonly keyed: boolean;
    readonly lenient: boolean;
    readonly encoding: string | null;
  };
}

export type WireKind = keyof WireDetails;

export type WireEvent = {
  [Kind in WireKind]: { readonly kind: Kind; readonly detail: WireDetails[Kind] };
}[WireKind];

/** An event with its time, UTC in microseconds. */
export type NotedEvent = WireEvent & { readonly at: string };

/** The events of one kind, in order. */
export function eventsOf<Kind extends WireKind>(
  events: readonly NotedEvent[],
  kind: Kind,
): readonly (WireDetails[Kind] & { readonly at: string })[] {
  return events.flatMap((event) =>
    event.kind === kind ? [{ ...(event.detail as WireDetails[Kind]), at: event.at }] : [],
  );
}

/** Inserts events while fewer than $2 of their kind are stored; concurrent statements may exceed the limit. */
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

/** Stored events per kind and certification, so that a loop does not displace the other kinds. */
const EVENTS_OF_A_KIND_MAX = 1_000;
/** Events waiting in memory, of all clients and of a certification, so that a loop does not displace others' events; further ones are dropped. */
const WAITING_MAX = 1_000;
const WAITING_OF_ONE_MAX = 100;
const WRITTEN_AT_ONCE = 100;

interface Waiting {
  readonly certification_id: string;
  readonly kind: string;
  readonly at_ms: number;
  readonly detail: object;
}

/** Records protocol events of clients under certification. Recording never waits or fails: events are written later or dropped. */
export class WireNotes {
  readonly #pool: pg.Pool;
  readonly #now: () => number;
  readonly #failed: (error: unknown) => void;
  #waiting: Waiting[] = [];
  readonly #waitingOf = new Map<string, number>();
  /** The writing of the first waiting events, and of those noted meanwhile, which one statement takes each. */
  #writing: Promise<void> | undefined;
  /** Events that were noted, and that are written or dropped. */
  #noted = 0;
  #done = 0;

  /** `now` is the database's clock in ms since 1970, like that of receipts. */
  constructor(pool: pg.Pool, now: () => number, failed: (error: unknown) => void) {
    this.#pool = pool;
    this.#now = now;
    this.#failed = failed;
  }

  note(certificationId: string, { kind, detail }: WireEvent): void {
    const ofOne = this.#waitingOf.get(certificationId) ?? 0;
    if (this.#waiting.length >= WAITING_MAX || ofOne >= WAITING_OF_ONE_MAX) return;
    this.#waitingOf.set(certificationId, ofOne + 1);
    this.#waiting.push({ certification_id: certificationId, kind, at_ms: this.#now(), detail });
    this.#noted += 1;
    this.#writing ??= this.#write();
  }

  /** Resolves when all earlier events are written or dropped, whatever is noted meanwhile. */
  async settled(): Promise<void> {
    const noted = this.#noted;
    while (this.#done < noted) await this.#writing;
  }

  async #write(): Promise<void> {
    // Combine the events of one turn of the event loop in one statement.
    await new Promise<void>((resolve) => setImmediate(resolve));
    const events = this.#waiting.slice(0, WRITTEN_AT_ONCE);
    this.#waiting = this.#waiting.slice(WRITTEN_AT_ONCE);
    for (const { certification_id: id } of events) {
      const left = (this.#waitingOf.get(id) ?? 0) - 1;
      if (left > 0) this.#waitingOf.set(id, left);
      else this.#waitingOf.delete(id);
    }
    try {
      await this.#pool.query({ ...INSERT_EVENTS, values: [JSON.stringify(events), EVENTS_OF_A_KIND_MAX] });
    } catch (error) {
      this.#failed(error);
    }
    this.#done += events.length;
    this.#writing = this.#waiting.length > 0 ? this.#write() : undefined;
  }
}
