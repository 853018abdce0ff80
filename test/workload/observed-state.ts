import type pg from "pg";
import { RESOURCES, type Resource, type ResourceLetter } from "#contract/resource.ts";
import { VERSION_TABLES } from "../../src/apply/state/record.ts";
import { openLayout } from "../../src/ingest/log/open-layout.ts";
import { identityOf, type JudgedRecord, stateLine } from "./expected-state.ts";

/** A record as it lies in the log. */
export interface LoggedRecord {
  readonly resource: Resource;
  readonly requestId: string;
  /** In the batch as sent. */
  readonly index: number;
  readonly json: string;
  /** Its letter in the outcomes of its part; `none` when the part has none or too few. */
  readonly outcome: string;
}

interface LogRow {
  bucket: number;
  request_id: string;
  resource: string;
  record_count: number;
  layout: Buffer;
  body: Buffer;
  outcomes: string | null;
}

/** By which the state points to a record of the log. */
export function placeOf({ requestId, index }: Pick<LoggedRecord, "requestId" | "index">): string {
  return `${requestId}/${index}`;
}

/** Every accepted record of some buckets, those of each bucket in the order of receipt (request id, index), read out of the log's bytes. */
export async function* readLog(pool: pg.Pool, buckets: readonly number[]): AsyncGenerator<LoggedRecord> {
  const { rows } = await pool.query<LogRow>(
    `select log.bucket, log.request_id, log.resource::text, log.record_count, log.layout, log.body, outcome.outcomes
    from bellhop.accept_log log left join bellhop.request_outcome outcome using (bucket, request_id)
    where log.bucket = any ($1::smallint[]) order by log.request_id, log.bucket`,
    [buckets],
  );
  for (const { bucket, request_id: requestId, record_count: count, layout, body, outcomes, ...row } of rows) {
    const resource = RESOURCES.find((name) => name.startsWith(row.resource)) ?? "inventories";
    const opened = await openLayout({ bucket, requestId }, layout);
    const records = [...opened.allRecords(body)].map(({ index, bytes }, position) => ({
      resource,
      requestId,
      index,
      json: bytes.toString("utf8"),
      outcome: (outcomes?.length === count ? outcomes[position] : undefined) ?? "none",
    }));
    yield* records.sort((left, right) => left.index - right.index);
  }
}

interface VersionRow {
  client_code: string;
  property_code: string;
  key: string;
  source_time: string;
  place: string;
  current: boolean;
  owns_facts: boolean;
}

/**
 * The state of some buckets as lines like those of `expected-state.ts`: one a version with the content that its pointer leads to in the
 * log. What is wrong in itself (a pointer into nothing, a version without its facts) is a line too, so it is noticed.
 */
export async function readStateLines(
  pool: pg.Pool,
  buckets: readonly number[],
  recordAt: (place: string) => JudgedRecord | undefined,
): Promise<string[]> {
  const lines: string[] = [];
  for (const resource of RESOURCES) {
    for (const row of await readVersions(pool, buckets, resource)) {
      const identity = identityOf({
        resource,
        clientCode: row.client_code,
        propertyCode: row.property_code,
        key: row.key,
      });
      const found = recordAt(row.place);
      if (found === undefined || found.identity !== identity || found.sourceTime !== row.source_time) {
        lines.push(`${identity} ${row.source_time} points to a record that is another's: ${row.place}`);
        continue;
      }
      lines.push(stateLine(identity, row.source_time, found.content, row.current));
      if (!row.owns_facts) lines.push(`${identity} ${row.source_time} has no facts`);
    }
  }
  return lines.sort();
}

async function readVersions(
  pool: pg.Pool,
  buckets: readonly number[],
  resource: Resource,
): Promise<VersionRow[]> {
  const letter = resource[0] as ResourceLetter;
  const table = VERSION_TABLES[letter];
  const { rows } = await pool.query<VersionRow>(
    `select property.client_code, property.property_code, version.key,
      to_char(version.source_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as source_time,
      version.request_id || '/' || version.record_index as place,
      current.request_id is not null as current, facts.facts is not null as owns_facts
    from bellhop_state.${table} version
    join bellhop.property property using (property_id)
    left join bellhop_state.current_record current on current.bucket = version.bucket
      and current.property_id = version.property_id and current.resource = '${letter}' and current.key = version.key
      and current.source_time = version.source_time and current.content_hash = version.content_hash
      and current.request_id = version.request_id and current.record_index = version.record_index
    left join bellhop_state.${table} facts on facts.bucket = version.bucket
      and facts.property_id = version.property_id and facts.key = version.key
      and facts.source_time = version.facts_source_time and facts.content_hash = version.content_hash
    where version.bucket = any ($1::smallint[])`,
    [buckets],
  );
  return rows;
}

/** Records whose last numbered change is not what is current: a feed that followed the changes would end elsewhere. */
export async function countChangesThatEndElsewhere(pool: pg.Pool): Promise<number> {
  let count = 0;
  for (const [letter, table] of Object.entries(VERSION_TABLES)) {
    const { rows } = await pool.query<{ count: number }>(
      `with last as (
        select distinct on (bucket, property_id, key) bucket, property_id, key, content_hash
        from bellhop_state.${table} where change_no is not null
        order by bucket, property_id, key, change_no desc
      )
      select count(*)::integer as count
      from bellhop_state.current_record current left join last using (bucket, property_id, key)
      where current.resource = '${letter}' and current.content_hash is distinct from last.content_hash`,
    );
    count += rows[0]?.count ?? 0;
  }
  return count;
}
