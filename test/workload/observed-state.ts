import type pg from "pg";
import { RESOURCES, type ResourceLetter } from "#contract/resource.ts";
import { VERSION_TABLES } from "../../src/apply/state/record.ts";
import { BodyLayout } from "../../src/ingest/log/stored-body.ts";
import { identityOf, type JudgedRecord, stateLine } from "./expected-state.ts";

/** A record as it lies in the log, under the place by which the state points to it. */
export interface LoggedRecord extends JudgedRecord {
  readonly place: string;
  /** Its letter in the outcomes of its part; undefined when the part has none or too few. */
  readonly outcome: string | undefined;
}

interface LogRow {
  request_id: string;
  record_count: number;
  layout: Buffer;
  body: Buffer;
  outcomes: string | null;
}

/**
 * Every accepted record, in the order of receipt (request id, index), read out of the log's bytes. `judged` knows the
 * texts that were sent; bytes that it does not know are not what was sent, and throw.
 */
export async function readLog(
  pool: pg.Pool,
  judged: (json: string) => JudgedRecord | undefined,
): Promise<LoggedRecord[]> {
  const { rows } = await pool.query<LogRow>(
    `select log.request_id, log.record_count, log.layout, log.body, outcome.outcomes
    from bellhop.accept_log log left join bellhop.request_outcome outcome using (bucket, request_id)
    where log.kind = 'b' order by log.request_id, log.bucket`,
  );
  const records: { index: number; requestId: string; logged: LoggedRecord }[] = [];
  for (const { request_id: requestId, record_count: count, layout, body, outcomes } of rows) {
    let position = 0;
    for (const { index, bytes } of new BodyLayout(layout).allRecords(body)) {
      const record = judged(bytes.toString("utf8"));
      if (record === undefined)
        throw new Error(`The log holds a record that was not sent: ${requestId}/${index}.`);
      const { identity, sourceTime, content } = record;
      const place = `${requestId}/${index}`;
      const outcome = outcomes?.length === count ? outcomes[position] : undefined;
      records.push({ index, requestId, logged: { identity, sourceTime, content, place, outcome } });
      position += 1;
    }
  }
  return records
    .sort((left, right) =>
      left.requestId === right.requestId
        ? left.index - right.index
        : left.requestId < right.requestId
          ? -1
          : 1,
    )
    .map(({ logged }) => logged);
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
 * The state as lines like those of `expected-state.ts`: one a version with the content that its pointer leads to in the
 * log. What is wrong in itself (a pointer into nothing, a version without its facts) is a line too, so it is noticed.
 */
export async function readStateLines(
  pool: pg.Pool,
  recordAt: (place: string) => JudgedRecord | undefined,
): Promise<string[]> {
  const lines: string[] = [];
  for (const resource of RESOURCES) {
    for (const row of await readVersions(pool, resource)) {
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

async function readVersions(pool: pg.Pool, resource: (typeof RESOURCES)[number]): Promise<VersionRow[]> {
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
      and facts.source_time = version.facts_source_time and facts.content_hash = version.content_hash`,
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
