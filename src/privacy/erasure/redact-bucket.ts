import type pg from "pg";
import { redactFacts } from "#contract/redact-facts.ts";
import { ERASED, redactRecord } from "#contract/redact-record.ts";
import { letterOf, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { VERSION_TABLES } from "../../apply/state/record.ts";
import { STATE_SCHEMA } from "../../apply/state/state-schema.ts";
import type { RecordIdentity, RedactionList } from "../../ingest/redact.ts";
import { namedStatement } from "../../platform/db/statement.ts";
import { rewriteFound, rewritePart } from "../../retention/rewrite-log.ts";
import {
  type HashOverride,
  type Hit,
  hashOverridesOf,
  identityText,
  type RecordsByText,
  searchOfSubjects,
  tokenOf,
} from "./find-records.ts";
import { withTexts } from "./redact-elsewhere.ts";
import { WordFinder } from "./word-finder.ts";

/** State schemas kept by swaps of a replay (src/apply/replay.ts). */
const findFormer = namedStatement(
  "find-former-states",
  `select quote_ident(nspname) as name from pg_namespace
  where nspname ~ '^bellhop_replay_[a-z0-9]+_former$' and to_regclass(quote_ident(nspname) || '.current_record') is not null
  order by nspname`,
);

/** The live state and former states kept by replays. */
export async function stateSchemas(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(findFormer);
  return [STATE_SCHEMA, ...rows.map(({ name }) => name)];
}

const RENAMED = `unnest($2::integer[], $3::text[], $4::text[], $5::text[]) as renamed (property_id, key, before, after)`;
const SAME_CONTENT = `of.bucket = $1 and of.property_id = renamed.property_id and of.key = renamed.key
  and of.content_hash = decode(renamed.before, 'hex')`;

/** Reads and locks the facts first, then writes them without personal data. */
async function redactVersions(
  client: pg.ClientBase,
  table: string,
  resource: ResourceLetter,
  values: readonly unknown[],
): Promise<number> {
  const { rows } = await client.query<{
    property_id: number;
    key: string;
    source_time: string;
    before: string;
    after: string;
    facts: string | null;
  }>(
    `select of.property_id, of.key, of.source_time::text as source_time, renamed.before, renamed.after, of.facts
    from ${table} as of join ${RENAMED} on ${SAME_CONTENT} for update of of`,
    [...values],
  );
  if (rows.length === 0) return 0;
  const { rowCount } = await client.query(
    `update ${table} as of set content_hash = decode(renamed.after, 'hex'), facts = renamed.facts
    from unnest($2::integer[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::text[])
      as renamed (property_id, key, before, after, source_time, facts)
    where ${SAME_CONTENT} and of.source_time = renamed.source_time`,
    [
      values[0],
      rows.map((row) => row.property_id),
      rows.map((row) => row.key),
      rows.map((row) => row.before),
      rows.map((row) => row.after),
      rows.map((row) => row.source_time),
      rows.map(({ facts }) => (facts === null ? null : redactFacts(resourceOf(resource), facts))),
    ],
  );
  return rowCount ?? 0;
}

/** Minimum length of a word: shorter ones occur in too many unrelated texts. */
const WORD_CHARACTERS_MIN = 3;

/** Distinct texts by which a person could be found elsewhere. */
export function searchableWords(texts: Iterable<string>): string[] {
  const trimmed = [...texts].map((text) => text.trim()).filter((text) => text.length >= WORD_CHARACTERS_MIN);
  return [...new Set(trimmed)];
}

/** Names and their single words, to remove from the messages about the records that contained them, and from no others. */
function partsOfWords(words: readonly string[]): string[] {
  return searchableWords(words.flatMap((word) => [word, ...word.split(/[^\p{L}\p{N}]+/u)]));
}

/** until_record: of a piece; null of a part that is applied. */
const readDetails = namedStatement(
  "read-details",
  `select request_id, null::integer as until_record, details from bellhop.request_outcome
  where bucket = $1 and request_id = any ($2::uuid[]) and details is not null
  union all
  select request_id, until_record, details from bellhop.applied_piece
  where bucket = $1 and request_id = any ($2::uuid[])`,
);
const readCorrelationIds = namedStatement(
  "read-correlation-ids",
  `select distinct request_id, correlation_id from bellhop.accept_log
  where request_id = any ($1::uuid[]) and correlation_id is not null`,
);
/** All parts of a batch have the same correlation id. */
const eraseCorrelationId = namedStatement(
  "erase-correlation-id",
  `update bellhop.accept_log set correlation_id = $2 where request_id = $1 and correlation_id is not null`,
);
const writeDetails = namedStatement(
  "write-details",
  `update bellhop.request_outcome set details = $3 where bucket = $1 and request_id = $2`,
);
const writePieceDetails = namedStatement(
  "write-piece-details",
  `update bellhop.applied_piece set details = $3 where bucket = $1 and request_id = $2 and until_record = $4`,
);

interface DetailsRow {
  readonly request_id: string;
  readonly until_record: number | null;
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * Removes words from the warnings and reasons of redacted records; keeps codes and counts. Returns the number of parts changed: nearly
 * always 0, as messages do not quote free text.
 */
async function redactDetails(
  client: pg.ClientBase,
  hits: readonly Hit[],
  words: WordFinder,
): Promise<number> {
  const [first] = hits;
  if (first === undefined) return 0;
  const byRequest = Map.groupBy(hits, ({ part }) => part.requestId);
  const { bucket } = first.part;
  const { rows } = await client.query<DetailsRow>({
    ...readDetails,
    values: [bucket, [...byRequest.keys()]],
  });
  let changed = 0;
  for (const { request_id, until_record, details } of rows) {
    const redacted: Record<string, unknown> = { ...details };
    for (const { index } of byRequest.get(request_id) ?? []) {
      if (redacted[index] !== undefined)
        redacted[index] = withTexts(redacted[index], (text) => (words.isIn(text) ? ERASED : text));
    }
    if (JSON.stringify(redacted) === JSON.stringify(details)) continue;
    changed += 1;
    const values = [bucket, request_id, JSON.stringify(redacted)];
    if (until_record === null) await client.query({ ...writeDetails, values });
    else await client.query({ ...writePieceDetails, values: [...values, until_record] });
  }
  return changed;
}

/** Erases the correlation ids of the records' batches if they mention a word; returns the number of batches. */
async function redactCorrelationIds(
  client: pg.ClientBase,
  hits: readonly Hit[],
  words: WordFinder,
): Promise<number> {
  const requestIds = [...new Set(hits.map(({ part }) => part.requestId))];
  const { rows } = await client.query<{ request_id: string; correlation_id: string }>({
    ...readCorrelationIds,
    values: [requestIds],
  });
  const mentioning = rows.filter((row) => words.isIn(row.correlation_id));
  for (const { request_id: requestId } of mentioning)
    await client.query({ ...eraseCorrelationId, values: [requestId, ERASED] });
  return mentioning.length;
}

/**
 * Hash overrides for contents known only to versions because retention has deleted their payloads. Whether they contained personal data is
 * unknown, so each gets a token. `hits`: every copy of the records in the log.
 */
async function findUnlogged(
  client: pg.ClientBase,
  bucket: number,
  records: readonly KnownRecord[],
  hits: readonly Hit[],
  salt: Buffer,
): Promise<HashOverride[]> {
  // An applier may have redacted a record since the search; its hash is then that of the redacted bytes.
  const logged = new Set(
    hits.flatMap(({ identity, contentHash, redactedHash }) =>
      [contentHash, redactedHash].map((of) => `${identityText(identity)}\0${of}`),
    ),
  );
  const hashOverrides: HashOverride[] = [];
  for (const { identity, propertyId } of records) {
    const { rows } = await client.query<{ hash: string }>(
      `select distinct encode(content_hash, 'hex') as hash
      from ${STATE_SCHEMA}.${VERSION_TABLES[letterOf(identity.resource)]}
      where bucket = $1 and property_id = $2 and key = $3`,
      [bucket, propertyId, identity.key],
    );
    for (const { hash: before } of rows)
      if (!logged.has(`${identityText(identity)}\0${before}`))
        hashOverrides.push({ identity, before, after: tokenOf(salt, identity, before) });
  }
  return hashOverrides;
}

const findProperties = namedStatement(
  "find-properties-of-bucket",
  `select client_code, property_code, property_id from bellhop.property where bucket = $1`,
);

/** Findings and counts of redactions so far. */
export class Findings {
  readonly counts = {
    logParts: 0,
    logRecords: 0,
    versions: 0,
    outcomeDetails: 0,
    correlationIds: 0,
    rejectedRecords: 0,
    webhookMessages: 0,
    freeTexts: 0,
  };
  /** The records found, redacted now or before, by identity. */
  readonly records = new Map<string, RecordIdentity>();
  /** Words that identify the persons elsewhere, collected before their records are redacted. */
  readonly texts = new Set<string>();
}

/** Rewrites the records of the hits, part by part. */
async function redactLog(
  client: pg.ClientBase,
  hits: readonly Hit[],
  hashOverrides: readonly HashOverride[],
): Promise<number> {
  const after = new Map(
    hashOverrides.map((hashOverride) => [
      `${identityText(hashOverride.identity)}\0${hashOverride.before}`,
      hashOverride.after,
    ]),
  );
  let parts = 0;
  for (const [, ofPart] of Map.groupBy(hits, ({ part }) => `${part.logWriterId}/${part.requestId}`)) {
    const byIndex = new Map(ofPart.map((hit) => [hit.index, hit]));
    const [first] = ofPart;
    if (first === undefined) continue;
    const isRewritten = await rewritePart(client, first.part, ({ index, bytes }) => {
      const hit = byIndex.get(index);
      if (hit === undefined) return "keep";
      const contentHash = after.get(`${identityText(hit.identity)}\0${hit.contentHash}`);
      if (contentHash === undefined)
        throw new Error(`No hash override was created for ${ERASED} record ${index}.`);
      return { bytes: redactRecord(hit.identity.resource, bytes), contentHash };
    });
    if (isRewritten) parts += 1;
  }
  return parts;
}

/** Input for redacting one bucket. */
interface BucketRun {
  readonly bucket: number;
  /** Decides whether a copy of a record is redacted. */
  readonly subjects: RedactionList;
  /** The records found in the log, and those listed by key, even without copies in the log. */
  readonly records: RecordsByText;
  readonly salt: Buffer;
}

/** A record to redact, and its property's id. */
interface KnownRecord {
  readonly identity: RecordIdentity;
  readonly propertyId: number;
}

/** The records of a run with a known property. */
async function recordsOf(
  client: pg.ClientBase,
  { bucket, records }: BucketRun,
): Promise<readonly KnownRecord[]> {
  const { rows } = await client.query<{ client_code: string; property_code: string; property_id: number }>({
    ...findProperties,
    values: [bucket],
  });
  return [...records.values()].flatMap((identity) => {
    const { clientCode, propertyCode } = identity;
    const of = rows.find((row) => row.client_code === clientCode && row.property_code === propertyCode);
    return of === undefined ? [] : [{ identity, propertyId: of.property_id }];
  });
}

/**
 * Replaces the content hashes of versions and current records in one bucket, and removes personal data from their facts. Returns the number
 * of versions in the live state.
 */
async function replaceHashes(
  client: pg.ClientBase,
  bucket: number,
  hashOverrides: readonly HashOverride[],
  records: readonly KnownRecord[],
): Promise<number> {
  const ids = new Map(records.map(({ identity, propertyId }) => [identityText(identity), propertyId]));
  const schemas = await stateSchemas(client);
  let versions = 0;
  for (const [resource, contents] of Map.groupBy(hashOverrides, (one) => letterOf(one.identity.resource))) {
    const values = [
      bucket,
      contents.map(({ identity }) => ids.get(identityText(identity)) ?? 0),
      contents.map(({ identity }) => identity.key),
      contents.map(({ before }) => before),
      contents.map(({ after }) => after),
    ];
    for (const schema of schemas) {
      const table = `${schema}.${VERSION_TABLES[resource]}`;
      const count = await redactVersions(client, table, resource, values);
      if (schema === STATE_SCHEMA) versions += count;
      // compact_nights starts with digits of the hash; null makes it read from the facts again.
      for (const [other, further] of [
        ["current_record", ", compact_nights = null"],
        ["released_copy", ""],
      ])
        await client.query(
          `update ${schema}.${other} as of set content_hash = decode(renamed.after, 'hex')${further}
          from ${RENAMED} where ${SAME_CONTENT} and of.resource = '${resource}'`,
          values,
        );
    }
  }
  return versions;
}

/**
 * Redacts the subjects in one bucket in one transaction (`rewriteFound`): log, versions, current records and outcome details. Adds to the
 * findings. Returns false, with nothing redacted, if a copy contains a word that is not among the findings.
 */
export async function redactBucket(
  client: pg.ClientBase,
  run: BucketRun,
  { counts, records: known, texts }: Findings,
): Promise<boolean> {
  const { bucket, subjects, salt } = run;
  return rewriteFound(client, searchOfSubjects(bucket, subjects, run.records), async (hits) => {
    const dirty = hits.filter(({ isClean }) => !isClean);
    const words = [...new Set(dirty.flatMap((hit) => hit.words))];
    if (!words.every((word) => texts.has(word))) return false;
    const records = await recordsOf(client, run);
    const hashOverrides = hashOverridesOf(hits, salt);
    const unlogged = await findUnlogged(client, bucket, records, hits, salt);
    counts.logParts += await redactLog(client, dirty, hashOverrides);
    counts.logRecords += dirty.length;
    counts.versions += await replaceHashes(client, bucket, [...hashOverrides, ...unlogged], records);
    const parts = new WordFinder(partsOfWords(words));
    counts.outcomeDetails += await redactDetails(client, dirty, parts);
    counts.correlationIds += await redactCorrelationIds(client, dirty, parts);
    for (const { identity } of records) known.set(identityText(identity), identity);
    return true;
  });
}
