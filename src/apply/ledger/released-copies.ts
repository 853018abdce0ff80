import type pg from "pg";
import { type Asked, BUCKET_TERM, queryOfBucket } from "../../platform/db/dialect.ts";
import { insertRows } from "../../platform/db/write-rows.ts";
import { type RecordKey, textOfKey } from "../state/record-state.ts";
import { arrayOf, isoOfStored, textArrayOf } from "../state/state-session.ts";
import type { ResourceLetter } from "../state/version-tables.ts";
import type { TimelineCopy } from "./timeline.ts";

const INTO = {
  table: "released_copy",
  columns: {
    bucket: "smallint",
    property_id: "integer",
    resource: '"char"',
    key: "text",
    source_time: "timestamptz",
    content_hash: "bytea",
    request_id: "uuid",
    record_index: "integer",
    counts_from: "uuid",
  },
  skipsExisting: true,
} as const;

const BUCKETS_THAT_HAVE: Asked = {
  name: "buckets-with-released-copies",
  text: `select wanted.bucket from unnest($1::smallint[]) as wanted (bucket)
    where exists (select from released_copy as t where t.bucket = wanted.bucket ${BUCKET_TERM})`,
};
const LATEST_RELEASES: Asked = {
  name: "latest-releases",
  rowMode: "array",
  text: `select wanted.at::integer, latest.counts_from
    from unnest($1::smallint[], $2::integer[], $3::"char"[], $4::text[])
      with ordinality as wanted (bucket, property_id, resource, key, at)
    cross join lateral (
      select t.counts_from from released_copy as t
      where t.bucket = wanted.bucket and t.property_id = wanted.property_id and t.resource = wanted.resource
        and t.key = wanted.key ${BUCKET_TERM}
      order by t.counts_from desc limit 1
    ) as latest`,
};
const COPIES_OF_KEYS: Asked = {
  name: "released-copies-of-keys",
  rowMode: "array",
  text: `select wanted.at::integer, t.source_time::text, t.content_hash::text, t.request_id, t.record_index, t.counts_from
    from unnest($1::smallint[], $2::integer[], $3::"char"[], $4::text[])
      with ordinality as wanted (bucket, property_id, resource, key, at)
    join released_copy as t using (bucket, property_id, resource, key)
    where true ${BUCKET_TERM}`,
};

async function queryKeys<Row extends unknown[]>(
  client: pg.ClientBase,
  statement: Asked,
  keys: readonly RecordKey[],
): Promise<Row[]> {
  const values = [
    arrayOf(keys.map(({ bucket }) => bucket)),
    arrayOf(keys.map(({ propertyId }) => propertyId)),
    arrayOf(keys.map(({ resource }) => resource)),
    textArrayOf(keys.map(({ key }) => key)),
  ];
  return (await queryOfBucket<Row>(client, statement, values, keys)).rows;
}

/**
 * Versions that count from another receipt than their own, as a record of theirs was held aside and released. Hardly any bucket
 * has some, so that it has none is remembered; `forget` after a transaction that failed, and when buckets were taken.
 */
export class ReleasedCopies {
  readonly #hasSome = new Map<number, boolean>();

  /** Of those keys that have some, by `textOfKey`: the last request from which one counts. */
  async latestOf(
    client: pg.ClientBase,
    records: readonly { readonly of: RecordKey }[],
  ): Promise<ReadonlyMap<string, string>> {
    const latest = new Map<string, string>();
    await this.#look(client, records);
    const keys = new Map<string, RecordKey>();
    for (const { of } of records)
      if (of.resource !== "i" && this.#hasSome.get(of.bucket) === true) keys.set(textOfKey(of), of);
    if (keys.size === 0) return latest;
    const texts = [...keys.keys()];
    const found = await queryKeys<[at: number, countsFrom: string]>(client, LATEST_RELEASES, [
      ...keys.values(),
    ]);
    for (const [at, countsFrom] of found) latest.set(texts[at - 1] as string, countsFrom);
    return latest;
  }

  /** All of these keys, in their order. */
  async load(client: pg.ClientBase, keys: readonly RecordKey[]): Promise<TimelineCopy[][]> {
    const found: TimelineCopy[][] = keys.map(() => []);
    if (keys.length === 0) return found;
    type Row = [number, string, string, string, number, string];
    for (const row of await queryKeys<Row>(client, COPIES_OF_KEYS, keys)) {
      const [at, sourceTime, contentHash, requestId, index, countsFrom] = row;
      const content = contentHash.slice(2);
      found[at - 1]?.push({ sourceTime: isoOfStored(sourceTime), content, requestId, index, countsFrom });
    }
    return found;
  }

  /** Writes copies of versions in which a release had a part; those that are there already stay. */
  async write(
    client: pg.ClientBase,
    copies: readonly { readonly of: RecordKey; readonly copy: TimelineCopy }[],
  ): Promise<void> {
    const rows = copies.map(({ of, copy }) => ({
      bucket: of.bucket,
      property_id: of.propertyId,
      resource: of.resource satisfies ResourceLetter,
      key: of.key,
      source_time: copy.sourceTime,
      content_hash: `\\x${copy.content}`,
      request_id: copy.requestId,
      record_index: copy.index,
      counts_from: copy.countsFrom,
    }));
    await insertRows(client, INTO, rows);
    for (const { bucket } of rows) this.#hasSome.set(bucket, true);
  }

  forget(): void {
    this.#hasSome.clear();
  }

  async #look(client: pg.ClientBase, records: readonly { readonly of: RecordKey }[]): Promise<void> {
    const unknown = new Set<number>();
    for (const { of } of records) if (!this.#hasSome.has(of.bucket)) unknown.add(of.bucket);
    if (unknown.size === 0) return;
    const buckets = [...unknown];
    const { rows } = await queryOfBucket<{ bucket: number }>(client, BUCKETS_THAT_HAVE, [buckets], records);
    for (const bucket of buckets) this.#hasSome.set(bucket, false);
    for (const { bucket } of rows) this.#hasSome.set(bucket, true);
  }
}
