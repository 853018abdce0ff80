import type pg from "pg";
import { isoOfMicroseconds, microsecondsOf } from "../../ingest/log/part-name.ts";
import { type InsertedTable, insertRows } from "../../platform/db/copy.ts";
import { ofBucket, queryOfBucket } from "../../platform/db/dialect.ts";
import type { RecordKey } from "../state/record.ts";

const INTO: InsertedTable = {
  table: "known_books",
  columns: {
    bucket: "smallint",
    property_id: "integer",
    departure: "date",
    source_time: "timestamptz",
    received_at: "timestamptz",
  },
  onConflict: `(bucket, property_id) do update set departure = least(known_books.departure, excluded.departure),
    source_time = least(known_books.source_time, excluded.source_time),
    received_at = least(known_books.received_at, excluded.received_at)`,
};
const KNOWN_BOOKS = {
  name: "known-books",
  ...ofBucket(
    3,
    ({ andBucket }) => `select t.property_id, t.departure - date '1970-01-01' as departure,
      to_char(t.source_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "sourceTime",
      to_char(t.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "receivedAt"
    from unnest((select $1::smallint[]), (select $2::integer[])) as wanted (bucket, property_id)
    join known_books as t on t.bucket = wanted.bucket and t.property_id = wanted.property_id
    where true ${andBucket}`,
  ),
};

const DAY_MS = 86_400_000;
/** Properties that are remembered, of some 200 bytes each. */
const REMEMBERED_MAX = 20_000;
/** Before anything is known. Times are ISO 8601 with six fraction digits, so their texts compare as they do. */
const NOTHING = { departure: Number.POSITIVE_INFINITY, sourceTime: "~", receivedAt: "~" } as const;

/** The date of days since 1970-01-01. The departure of a last night, 9999-12-31, has a year of five digits, which JavaScript writes as six. */
function dateOf(day: number): string {
  const [date = ""] = new Date(day * DAY_MS).toISOString().split("T");
  return date.replace(/^\+0/, "");
}

/** Days since 1970-01-01, and two instants. */
interface Known {
  readonly departure: number;
  readonly sourceTime: string;
  readonly receivedAt: string;
}

/**
 * From when on the books of each property are known, as `known_books` has it. Only the owner of a bucket writes it, so it is remembered
 * until `forget`.
 */
export class KnownBooks {
  readonly #client: pg.ClientBase;
  readonly #known = new Map<number, Known>();
  readonly #changed = new Map<number, RecordKey>();
  /** By property: the first request seen, by id, that was not received before what is known. Ids sort by receipt. */
  readonly #notBefore = new Map<number, string>();

  /** `client` has the state schema on its search path. */
  constructor(client: pg.ClientBase) {
    this.#client = client;
  }

  /** Enters a stay that counts from a source time and from the receipt of a request on. Its property must be loaded. */
  enter(of: RecordKey, departure: number, sourceTime: string, countsFrom: string): void {
    const known = this.#known.get(of.propertyId) ?? NOTHING;
    const notBefore = this.#notBefore.get(of.propertyId);
    const isLater = notBefore !== undefined && countsFrom >= notBefore;
    if (isLater && departure >= known.departure && sourceTime >= known.sourceTime) return;
    const receivedAt = isoOfMicroseconds(microsecondsOf(countsFrom));
    if (!isLater) this.#notBefore.set(of.propertyId, countsFrom);
    if (departure >= known.departure && sourceTime >= known.sourceTime && receivedAt >= known.receivedAt)
      return;
    this.#known.set(of.propertyId, {
      departure: Math.min(departure, known.departure),
      sourceTime: sourceTime < known.sourceTime ? sourceTime : known.sourceTime,
      receivedAt: receivedAt < known.receivedAt ? receivedAt : known.receivedAt,
    });
    this.#changed.set(of.propertyId, of);
  }

  /** Writes what changed in this transaction. */
  async write(): Promise<void> {
    if (this.#changed.size === 0) return;
    const rows = [...this.#changed.values()].flatMap(({ bucket, propertyId }) => {
      const known = this.#known.get(propertyId);
      if (known === undefined) return [];
      const { departure, sourceTime, receivedAt } = known;
      return {
        ...{ bucket, property_id: propertyId, source_time: sourceTime, received_at: receivedAt },
        departure: dateOf(departure),
      };
    });
    this.#changed.clear();
    await insertRows(this.#client, INTO, rows);
  }

  forget(): void {
    this.#known.clear();
    this.#notBefore.clear();
    this.#changed.clear();
  }

  /** Loads what is known of the properties of reservations. */
  async load(stays: readonly { readonly of: RecordKey }[]): Promise<void> {
    const missing = new Map<number, RecordKey>();
    for (const { of } of stays)
      if (of.resource === "r" && !this.#known.has(of.propertyId)) missing.set(of.propertyId, of);
    if (missing.size === 0) return;
    // What changed is not written yet.
    if (this.#known.size + missing.size > REMEMBERED_MAX)
      for (const id of this.#known.keys()) {
        if (this.#changed.has(id)) continue;
        this.#known.delete(id);
        this.#notBefore.delete(id);
      }
    const of = [...missing.values()];
    const { rows } = await queryOfBucket<Known & { readonly property_id: number }>(
      this.#client,
      KNOWN_BOOKS,
      [of.map(({ bucket }) => bucket), of.map(({ propertyId }) => propertyId)],
      of,
    );
    for (const id of missing.keys()) this.#known.set(id, NOTHING);
    for (const { property_id, departure, sourceTime, receivedAt } of rows)
      this.#known.set(property_id, { departure, sourceTime, receivedAt });
  }
}
