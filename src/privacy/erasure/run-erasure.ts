import { hash, randomBytes, randomUUID } from "node:crypto";
import type pg from "pg";
import { identifyingTextsOf, identityOnly, PERSONAL_FIELDS, redactRecord } from "#contract/redact-record.ts";
import { type Resource, resourceOf } from "#contract/resource.ts";
import { VERSION_TABLES } from "../../apply/state/record.ts";
import { recordAudit } from "../../identity/audit.ts";
import { ALL_BUCKETS, bucketOf } from "../../ingest/log/part-name.ts";
import { type ListedSubject, type RecordIdentity, RedactionList } from "../../ingest/redact.ts";
import { withExclusiveWork } from "../../platform/db/coordination.ts";
import { namedStatement } from "../../platform/db/statement.ts";
import { withTransaction } from "../../platform/db/transaction.ts";
import { clearStatistics, rewriteRejected, searchLog } from "../../retention/rewrite-log.ts";
import { dropLeftovers } from "../drop-leftovers.ts";
import {
  ErasureError,
  type ErasureListFile,
  importErasures,
  listedSubject,
  readProfileKey,
  SUBJECTS_COLUMN,
  type Subject,
  subjectsJson,
} from "./erasure-list.ts";
import { type Hit, identityText, searchOfSubjects } from "./find-records.ts";
import { Findings, redactBucket, searchableWords, stateSchemas } from "./redact-bucket.ts";
import {
  FREE_TEXT_ELSEWHERE,
  FREE_TEXT_OF_LOG,
  type Reach,
  readReach,
  redactFreeTexts,
  rewriteMessages,
} from "./redact-elsewhere.ts";
import { WordFinder } from "./word-finder.ts";

/** Contents of the certificate, without erased data. */
interface ErasureFacts {
  readonly erasureId: string;
  readonly requestedBy: string;
  readonly reason: string;
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly subjects: readonly ListedSubject[];
  /** The records found: those listed by key, redacted now or before, and those that named a profile. */
  readonly records: readonly RecordIdentity[];
  readonly redacted: Readonly<Record<string, number>>;
  /** Copies found when everything was read again. There is no certificate unless it is 0. */
  readonly leftAfterwards: number;
}

/** Certificate text: what an erasure cannot reach. */
const OUT_OF_REACH = [
  "backups made before, until they expire: a restore redacts them again by the erasure list",
  "the write-ahead log and dead rows of PostgreSQL, until they are recycled and vacuumed",
  "what was delivered before to clients and webhooks that read the records",
  "the hotel's own systems: what they send again is redacted before it is kept",
];

/** The text of a certificate, and its SHA-256 in hexadecimal. */
function writeCertificate(facts: ErasureFacts): { readonly text: string; readonly hash: string } {
  const { reservations, groups } = PERSONAL_FIELDS;
  const pathsOf = (fields: readonly { readonly path: string }[]) => fields.map(({ path }) => path);
  // Exactly as printed, so that the SHA-256 of a saved file can be checked.
  const text = `${JSON.stringify(
    {
      format: "bellhop-erasure-certificate/1",
      ...facts,
      fields: {
        reservations: pathsOf(reservations),
        groups: pathsOf(groups),
        others: "every member that the contract does not name",
      },
      kept: "identity, dates, codes, counts and money: no count, outcome or figure has changed",
      outOfReach: OUT_OF_REACH,
    },
    null,
    2,
  )}\n`;
  return { text, hash: hash("sha256", text) };
}

/** The texts and numbers of a rejected record, and the names of its members: it may be any JSON. */
function textsIn(bytes: Buffer): string[] {
  const texts: string[] = [];
  let values: unknown[];
  try {
    values = [JSON.parse(bytes.toString("utf8"))];
  } catch {
    return [bytes.toString("utf8")];
  }
  for (let value = values.pop(); value !== undefined; value = values.pop()) {
    if (typeof value === "string" || typeof value === "number") texts.push(String(value));
    if (typeof value !== "object" || value === null) continue;
    // One by one: a function takes fewer arguments than a record may have members.
    if (!Array.isArray(value)) for (const name of Object.keys(value)) texts.push(name);
    for (const one of Object.values(value)) values.push(one);
  }
  return texts;
}

/** A rejected record of the subjects: its key, or a profile in it, is listed. */
function isNamed(subjects: RedactionList, resource: Resource, bytes: Buffer): boolean {
  const { identity, clientCode, propertyCode = "", key = "" } = identityOnly(resource, bytes);
  return (
    subjects.isSubject({ resource, clientCode: clientCode ?? "", propertyCode, key }, identity) ||
    (resource === "reservations" && subjects.namesProfile(clientCode, textsIn(bytes)))
  );
}

/** Texts that identify the persons in rejected records of the subjects, whose members may have any type. */
async function wordsOfRejected(client: pg.ClientBase, subjects: RedactionList): Promise<string[]> {
  const words: string[] = [];
  await rewriteRejected(client, (resource, bytes) => {
    if (isNamed(subjects, resource, bytes))
      for (const word of identifyingTextsOf(resource, bytes)) words.push(word);
    return "keep";
  });
  return words;
}

/**
 * Reduces rejected records of lenient batches about the subjects to their identity: those that name one and, as they may be any JSON, those
 * within reach that mention one of the words. Returns how many there were.
 */
function redactRejected(
  client: pg.ClientBase,
  subjects: RedactionList,
  words: readonly string[],
  { otherCodes, foreignClients }: Reach,
): Promise<number> {
  const foreign = new Set(foreignClients);
  const finder = new WordFinder(words);
  return rewriteRejected(client, (resource, bytes, clientId) => {
    const { identity, clientCode = "" } = identityOnly(resource, bytes);
    if (identity.equals(bytes)) return "keep";
    if (isNamed(subjects, resource, bytes)) return identity;
    if (foreign.has(clientId) || otherCodes.has(clientCode)) return "keep";
    return finder.isIn(textsIn(bytes).join("\n")) ? identity : "keep";
  });
}

/** Stores the run and its subjects in one statement, and raises the list's version. */
const beginErasure = namedStatement(
  "begin-erasure",
  `with begun as (
    insert into bellhop.erasure (erasure_id, reason, requested_by, salt) values ($1, $2, $3, $4)
  ), listed as (
    insert into bellhop.erasure_subject (erasure_id, client_code, property_code, resource, key, profile_digest)
    select distinct $1::uuid, client_code, property_code, resource, key, decode(profile, 'hex')
    from json_to_recordset($5::json) as subject (client_code text, property_code text, resource "char", key text, profile text)
  )
  update bellhop.privacy_version set version = version + 1`,
);
const readUnfinished = namedStatement(
  "read-unfinished-erasure",
  `select erasure_id as "erasureId", requested_by as "requestedBy", started_at as "startedAt", salt,
    ${SUBJECTS_COLUMN}
  from bellhop.erasure
  where erasure_id::text = $1 and finished_at is null`,
);
const readImported = namedStatement(
  "read-imported-erasures",
  `select erasure_id as "erasureId",
    ${SUBJECTS_COLUMN}
  from bellhop.erasure
  where erasure_id = any ($1::uuid[])`,
);
const finishErasure = namedStatement(
  "finish-erasure",
  `update bellhop.erasure set finished_at = $2, certificate = $3, certificate_hash = $4, salt = null
  where erasure_id = $1`,
);

/** Each round takes longer than nodes need to load the list, so a second round finds something only if a node hangs. */
const ROUNDS_MAX = 5;

export interface ErasureOrder {
  readonly subjects: readonly Subject[];
  /** The reason in the operator's words; must not name anyone. */
  readonly reason: string;
  /** The actor for the audit. */
  readonly who: string;
}

export interface ErasureReport {
  readonly erasureId: string;
  readonly records: readonly RecordIdentity[];
  readonly redacted: Readonly<Record<string, number>>;
  readonly certificate: string;
  readonly certificateHash: string;
}

/** Input of a redaction. */
interface RedactionRun {
  readonly erasureId: string;
  readonly salt: Buffer;
  readonly subjects: readonly ListedSubject[];
}

interface Erasure extends RedactionRun {
  readonly requestedBy: string;
  readonly startedAt: Date;
}

/**
 * Adds the subjects to the erasure list, so that their data is redacted on arrival, and erases what is stored. No count, outcome or figure
 * changes, and a replay yields the same. Traffic continues meanwhile. Throws ErasureError, and WorkUnderWay while the log is rewritten or
 * replayed. `resumeErasure` continues an interrupted erasure.
 */
export async function runErasure(client: pg.ClientBase, order: ErasureOrder): Promise<ErasureReport> {
  if (order.subjects.length === 0) throw new ErasureError("An erasure names at least one record or profile.");
  return withExclusiveWork(client, async () => {
    const profileKey = await readProfileKey(client);
    const erasureId = randomUUID();
    const subjects = order.subjects.map((subject) => listedSubject(subject, profileKey));
    await withTransaction(client, async () => {
      await client.query({
        ...beginErasure,
        values: [erasureId, order.reason, order.who, randomBytes(32), subjectsJson(subjects)],
      });
      const detail = { erasureId, subjects: subjects.length };
      await recordAudit(client, { who: order.who, what: "begin-erasure", detail });
    });
    return carryOut(client, await unfinished(client, erasureId), order.who);
  });
}

/** Continues an interrupted erasure; redacted data stays redacted. */
export async function resumeErasure(
  client: pg.ClientBase,
  erasureId: string,
  who: string,
): Promise<ErasureReport> {
  return withExclusiveWork(client, async () => carryOut(client, await unfinished(client, erasureId), who));
}

/**
 * Imports a list and redacts its subjects, as after restoring a backup made before the erasures. Their certificates are unchanged. Returns
 * the number of erasures, of new ones, and of redacted copies of records.
 */
export async function carryOutList(
  client: pg.ClientBase,
  list: ErasureListFile,
  who: string,
): Promise<{ readonly erasures: number; readonly added: number; readonly records: number }> {
  const added = await importErasures(client, list);
  // All of them: an interrupted import has listed erasures that it has not carried out.
  const erasureIds = list.erasures.map((erasure) => erasure.erasureId);
  return withExclusiveWork(client, async () => {
    const { rows } = await client.query<Erasure>({ ...readImported, values: [erasureIds] });
    const subjects = rows.flatMap((erasure) => erasure.subjects);
    if (subjects.length === 0) return { erasures: erasureIds.length, added, records: 0 };
    const erasureId = rows.map((erasure) => erasure.erasureId).join(", ");
    const { redacted } = await redactEverywhere(client, { erasureId, subjects, salt: randomBytes(32) });
    const records = redacted["logRecords"] ?? 0;
    await recordAudit(client, { who, what: "apply-erasure-list", detail: { erasureIds, records } });
    return { erasures: erasureIds.length, added, records };
  });
}

async function unfinished(client: pg.ClientBase, erasureId: string): Promise<Erasure> {
  const { rows } = await client.query<Erasure & { readonly salt: Buffer | null }>({
    ...readUnfinished,
    values: [erasureId],
  });
  const [erasure] = rows;
  if (erasure === undefined) throw new ErasureError(`No erasure ${erasureId} is in progress.`);
  // An imported erasure has no salt.
  return { ...erasure, salt: erasure.salt ?? randomBytes(32) };
}

/** The buckets that may contain the subjects' data: all for a profile, as its client code may have properties in any. */
function bucketsOf(subjects: readonly ListedSubject[]): readonly number[] {
  if (subjects.some(({ profile }) => profile !== null)) return ALL_BUCKETS;
  const named = subjects.map(({ clientCode, propertyCode }) => bucketOf(clientCode, propertyCode ?? ""));
  return [...new Set(named)].toSorted((left, right) => left - right);
}

/** The subjects that are records in one bucket. */
function recordsNamed(subjects: readonly ListedSubject[], bucket: number): RecordIdentity[] {
  return subjects.flatMap(({ resource, clientCode, propertyCode, key }) =>
    propertyCode === null || key === null || bucketOf(clientCode, propertyCode) !== bucket
      ? []
      : [{ resource: resourceOf(resource), clientCode, propertyCode, key }],
  );
}

/** A redaction list of one erasure's subjects, to match records. */
async function matcherOf(client: pg.ClientBase, subjects: readonly ListedSubject[]): Promise<RedactionList> {
  return new RedactionList({
    version: "",
    settings: [],
    names_key: "",
    subjects: subjects.map((subject) => JSON.stringify(subject)),
    list_key: await readProfileKey(client),
  });
}

/** Tables whose planner statistics may contain personal data: short facts of versions in each state schema, and bodies. */
const VERSIONS_WITH_FACTS = [VERSION_TABLES.r, VERSION_TABLES.g];
const TABLES_WITH_BODIES = [
  "bellhop.accept_log",
  "bellhop.request_outcome",
  "bellhop.applied_piece",
  "bellhop.webhook_message",
];

/** Erases the subjects' data outside the buckets: rejected records, messages, and texts that mention them. */
async function redactElsewhere(
  client: pg.ClientBase,
  subjects: RedactionList,
  reach: Reach,
  { counts, texts }: Findings,
): Promise<void> {
  for (const word of await wordsOfRejected(client, subjects)) texts.add(word);
  const words = searchableWords(texts);
  counts.freeTexts += await redactFreeTexts(client, words, FREE_TEXT_OF_LOG, reach);
  counts.webhookMessages += await rewriteMessages(client, (identity, bytes) =>
    subjects.isSubject(identity, bytes) ? redactRecord(identity.resource, bytes) : bytes,
  );
  counts.freeTexts += await redactFreeTexts(client, words, FREE_TEXT_ELSEWHERE, reach);
  // Last, because words come from them.
  counts.rejectedRecords += await redactRejected(client, subjects, words, reach);
}

/** Clears planner statistics of all redacted tables, also those redacted by an interrupted run. */
async function clearAllStatistics(client: pg.ClientBase): Promise<void> {
  const versions = (await stateSchemas(client)).flatMap((schema) =>
    VERSIONS_WITH_FACTS.map((table) => `${schema}.${table}`),
  );
  const freeTexts = [...FREE_TEXT_OF_LOG, ...FREE_TEXT_ELSEWHERE].map(({ table }) => table);
  await clearStatistics(client, [...new Set([...versions, ...TABLES_WITH_BODIES, ...freeTexts])]);
}

/**
 * Erases the subjects' data in rounds until none is left: data in flight when the list was published may be stored verbatim, and is
 * redacted at the latest when applied. Each round redacts texts that mention the subjects first, because the words to search for come from
 * their records, also when an interrupted run is resumed.
 */
async function redactEverywhere(
  client: pg.ClientBase,
  { erasureId, subjects, salt }: RedactionRun,
): Promise<Pick<ErasureReport, "records" | "redacted">> {
  await dropLeftovers(client);
  const matcher = await matcherOf(client, subjects);
  const findings = new Findings();
  const clientCodes = [...new Set(subjects.map(({ clientCode }) => clientCode))];
  // Visit each bucket at least once: versions may know what the log does not, and appliers reload the list when their lease ends.
  const redacted = new Set<number>();
  let buckets = bucketsOf(subjects);
  for (let rounds = 0; ; rounds += 1) {
    const found = new Map<number, readonly Hit[]>();
    for (const bucket of buckets)
      found.set(bucket, await searchLog(client, searchOfSubjects(bucket, matcher)));
    for (const { words } of [...found.values()].flat()) for (const word of words) findings.texts.add(word);
    const requestIds = new Set([...found.values()].flat().map(({ part }) => part.requestId));
    const reach = await readReach(client, clientCodes, [...requestIds]);
    await redactElsewhere(client, matcher, reach, findings);
    const isLeft = (bucket: number) => found.get(bucket)?.some(({ isClean }) => !isClean) === true;
    buckets = buckets.filter((bucket) => !redacted.has(bucket) || isLeft(bucket));
    if (buckets.length === 0) break;
    if (rounds === ROUNDS_MAX)
      throw new ErasureError(`${buckets.length} buckets are unfinished: resume ${erasureId}.`);
    for (const bucket of buckets) {
      const hits = found.get(bucket) ?? [];
      const all = [...recordsNamed(subjects, bucket), ...hits.map(({ identity }) => identity)];
      const records = new Map(all.map((identity) => [identityText(identity), identity]));
      if (await redactBucket(client, { bucket, subjects: matcher, records, salt }, findings))
        redacted.add(bucket);
    }
  }
  await clearAllStatistics(client);
  return { redacted: findings.counts, records: [...findings.records.values()] };
}

/** Erases and writes the certificate. */
async function carryOut(client: pg.ClientBase, erasure: Erasure, who: string): Promise<ErasureReport> {
  const { erasureId, requestedBy, startedAt, subjects } = erasure;
  const { records, redacted } = await redactEverywhere(client, erasure);
  return withTransaction(client, async () => {
    const { rows } = await client.query<{ reason: string; now: Date }>(
      "select reason, clock_timestamp() as now from bellhop.erasure where erasure_id = $1 for update",
      [erasureId],
    );
    const [row] = rows;
    if (row === undefined) throw new ErasureError(`The erasure ${erasureId} is gone.`);
    const certificate = writeCertificate({
      erasureId,
      requestedBy,
      reason: row.reason,
      startedAt: startedAt.toISOString(),
      finishedAt: row.now.toISOString(),
      subjects,
      records,
      redacted,
      leftAfterwards: 0,
    });
    await client.query({
      ...finishErasure,
      values: [erasureId, row.now, certificate.text, certificate.hash],
    });
    const detail = { erasureId, records: records.length, certificateHash: certificate.hash };
    await recordAudit(client, { who, what: "erase", detail });
    return { erasureId, records, redacted, certificate: certificate.text, certificateHash: certificate.hash };
  });
}
