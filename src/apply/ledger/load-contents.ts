import type pg from "pg";
import { ArrayParameter } from "../../platform/db/binary-fields.ts";
import { type Asked, BUCKET_TERM, queryOfBucket } from "../../platform/db/dialect.ts";
import type { RecordKey } from "../state/record-state.ts";
import { VERSION_TABLES } from "../state/version-tables.ts";

/** Resources that have nights. */
export type NightResource = "r" | "g";

/** A content that is stored, and the version that holds its facts. */
export interface StoredContent {
  readonly of: RecordKey;
  readonly contentHash: string;
  readonly factsSourceTime: string;
}

/** What a stored content says: the text of its facts, and its label. */
export interface FactsOfContent {
  readonly facts: string;
  readonly status: string | null;
}

/** A content is not where its version says: somebody has changed the state. A replay brings it back. */
export class MissingContent extends Error {}

// Their number is hidden from the planner, as in advance-unchanged.ts.
function factsStatement(resource: NightResource): Asked {
  return {
    name: `facts-of-contents-${resource}`,
    rowMode: "array",
    text: `select wanted.at::integer, t.facts, t.status
    from unnest((select $1::smallint[]), (select $2::integer[]), (select $3::text[]), (select $4::timestamptz[]),
        (select $5::bytea[]))
      with ordinality as wanted (bucket, property_id, key, source_time, content_hash, at)
    join ${VERSION_TABLES[resource].table} as t using (bucket, property_id, key, source_time, content_hash)
    where true ${BUCKET_TERM}`,
  };
}

const STATEMENTS = { r: factsStatement("r"), g: factsStatement("g") } as const;

/** The facts of these contents, in their order, all of one resource. Throws MissingContent where one is not stored. */
export async function loadContents(
  client: pg.ClientBase,
  resource: NightResource,
  wanted: readonly StoredContent[],
): Promise<FactsOfContent[]> {
  if (wanted.length === 0) return [];
  const buckets = new ArrayParameter("smallint", wanted.length);
  const properties = new ArrayParameter("integer", wanted.length);
  const names = new ArrayParameter("text", wanted.length);
  const times = new ArrayParameter("timestamptz", wanted.length);
  const hashes = new ArrayParameter("bytea", wanted.length);
  for (const { of, contentHash, factsSourceTime } of wanted) {
    buckets.smallint(of.bucket);
    properties.integer(of.propertyId);
    names.text(of.key);
    times.timestamp(factsSourceTime);
    hashes.hex(contentHash);
  }
  const { rows } = await queryOfBucket<[at: number, facts: string | null, status: string | null]>(
    client,
    STATEMENTS[resource],
    [buckets, properties, names, times, hashes].map((parameter) => parameter.finish()),
    wanted,
  );
  const found: FactsOfContent[] = new Array(wanted.length);
  let count = 0;
  for (const [at, facts, status] of rows) {
    if (facts === null) continue;
    found[at - 1] = { facts, status };
    count += 1;
  }
  if (count !== wanted.length)
    throw new MissingContent(
      `The facts of ${wanted.length - count} contents are not where their versions say.`,
    );
  return found;
}
