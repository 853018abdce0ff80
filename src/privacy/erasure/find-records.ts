import { createHmac } from "node:crypto";
import { readRecord } from "#contract/read-record.ts";
import { identifyingTextsOf, profileIdsOf, profileNamesOf, redactRecord } from "#contract/redact-record.ts";
import { ALL_BUCKETS, bucketOf } from "../../ingest/log/part-name.ts";
import type { RecordIdentity, RedactionList } from "../../ingest/redact.ts";
import type { Queryable } from "../../platform/db/transaction.ts";
import { folded } from "../../platform/runtime/fold-text.ts";
import { type LogSearch, type PartKey, type ScannedPart, searchLog } from "../../retention/rewrite-log.ts";
import type { RecordSubject } from "./erasure-list.ts";

/** Resources with personal data. */
const PERSONAL_RESOURCES = ["r", "g"] as const;

/** A copy of a subject's record in the log. */
export interface Hit {
  readonly part: PartKey;
  readonly index: number;
  readonly identity: RecordIdentity;
  /** ISO 8601 with six digits, so that text order is time order. */
  readonly sourceTime: string;
  /** The hash by which the content is known. */
  readonly contentHash: string;
  /** The hash of the redacted bytes. */
  readonly redactedHash: string;
  /** The copy needs no redaction: it was redacted before, or does not name the profile. */
  readonly isClean: boolean;
  /** Words by which the person could be found elsewhere. */
  readonly words: readonly string[];
}

export type RecordsByText = ReadonlyMap<string, RecordIdentity>;

function hitsOf(
  { key: part, resource, records }: ScannedPart,
  subjects: RedactionList,
  of: RecordsByText | undefined,
): Hit[] {
  return records.flatMap(({ index, bytes, hashOverride, isRejected }): Hit[] => {
    if (isRejected) return [];
    const { clientCode, propertyCode, key, sourceTime, contentHash } = readRecord(resource, bytes);
    const identity = { resource, clientCode, propertyCode, key };
    if (of?.has(identityText(identity)) === false) return [];
    const isSubject = subjects.isSubject(identity, bytes);
    if (of === undefined && !isSubject) return [];
    const redacted = redactRecord(resource, bytes);
    const isClean = !isSubject || hashOverride !== undefined || redacted.equals(bytes);
    return [
      {
        part,
        index,
        identity,
        sourceTime,
        isClean,
        contentHash: hashOverride ?? contentHash,
        redactedHash: isClean ? contentHash : readRecord(resource, redacted).contentHash,
        words: isClean ? [] : identifyingTextsOf(resource, bytes),
      },
    ];
  });
}

/** A search of one bucket's log for the subjects, or for every copy of the records `of`, including copies that name no subject. */
export function searchOfSubjects(
  bucket: number,
  subjects: RedactionList,
  of?: RecordsByText,
): LogSearch<Hit> {
  return { bucket, resources: PERSONAL_RESOURCES, find: (part) => hitsOf(part, subjects, of) };
}

const HASH_DIGITS = 32;

/** Replaces the hash of one content of a record. */
export interface HashOverride {
  readonly identity: RecordIdentity;
  readonly before: string;
  readonly after: string;
}

export function identityText({ resource, clientCode, propertyCode, key }: RecordIdentity): string {
  return JSON.stringify([resource, clientCode, propertyCode, key]);
}

/** Newest first, in the order of versions: source time, then receipt. */
function newestFirst(left: Hit, right: Hit): number {
  const order = (hit: Hit) => [hit.sourceTime, hit.part.requestId, String(hit.index).padStart(8, "0")].join();
  return order(left) < order(right) ? 1 : -1;
}

/** A replacement for a content hash that cannot be found by trial once the salt is deleted. */
export function tokenOf(salt: Buffer, identity: RecordIdentity, before: string): string {
  const token = createHmac("sha256", salt)
    .update(`${identityText(identity)}\0${before}`)
    .digest("hex");
  return token.slice(0, HASH_DIGITS);
}

/**
 * Hash overrides for each content of redacted records. Equal contents stay equal and different ones different, so outcomes do not change,
 * also in a replay. The newest content gets the hash of its redacted bytes, so that the same record sent again (redacted on arrival) is
 * unchanged; a content that differs from it only in redacted data gets a token.
 */
export function hashOverridesOf(hits: readonly Hit[], salt: Buffer): HashOverride[] {
  const hashOverrides: HashOverride[] = [];
  for (const [, ofRecord] of Map.groupBy(hits, ({ identity }) => identityText(identity))) {
    const claimed = new Set(ofRecord.filter(({ isClean }) => isClean).map(({ contentHash }) => contentHash));
    const done = new Set<string>();
    for (const { identity, contentHash: before, redactedHash, isClean } of ofRecord.toSorted(newestFirst)) {
      if (isClean || done.has(before)) continue;
      done.add(before);
      const after = claimed.has(redactedHash) ? tokenOf(salt, identity, before) : redactedHash;
      claimed.add(after);
      hashOverrides.push({ identity, before, after });
    }
  }
  return hashOverrides;
}

/** Selects a guest's records. A name matches any part of a profile's or group's name, as `folded`. */
export type GuestSearch =
  | { readonly kind: "record"; readonly subject: RecordSubject }
  | { readonly kind: "profile"; readonly profileId: string; readonly clientCode: string | null }
  | { readonly kind: "name"; readonly name: string; readonly clientCode: string | null };

/** A record found, with the data that identifies the guest. */
interface FoundRecord extends RecordSubject {
  /** Number of copies in the log. */
  copies: number;
  readonly names: Set<string>;
  readonly profileIds: Set<string>;
}

interface FoundCopy {
  readonly subject: RecordSubject;
  readonly names: readonly string[];
  readonly ids: readonly string[];
}

function isWanted(search: GuestSearch, { subject, names, ids }: FoundCopy): boolean {
  if (search.kind === "record") return true;
  if (search.clientCode !== null && search.clientCode !== subject.clientCode) return false;
  if (search.kind === "profile") return ids.includes(search.profileId);
  const wanted = folded(search.name);
  return names.some((name) => folded(name).includes(wanted));
}

function copiesOf({ resource, records }: ScannedPart, search: GuestSearch): FoundCopy[] {
  const only = search.kind === "record" ? identityText(search.subject) : undefined;
  return records.flatMap(({ bytes, isRejected }): FoundCopy[] => {
    if (isRejected) return [];
    const { clientCode, propertyCode, key } = readRecord(resource, bytes);
    const subject = { resource: resource as RecordSubject["resource"], clientCode, propertyCode, key };
    if (only !== undefined && identityText(subject) !== only) return [];
    const names = resource === "groups" ? identifyingTextsOf(resource, bytes) : profileNamesOf(bytes);
    const copy = { subject, names, ids: profileIdsOf(bytes) };
    return isWanted(search, copy) ? [copy] : [];
  });
}

/**
 * Finds a guest's records by scanning all copies in the log: about a million records in some seconds. Also finds records of which only an
 * older copy names the guest.
 */
export async function findGuests(client: Queryable, search: GuestSearch): Promise<FoundRecord[]> {
  const found = new Map<string, FoundRecord>();
  const one = search.kind === "record" ? search.subject : undefined;
  const resources =
    one === undefined ? PERSONAL_RESOURCES : ([one.resource === "groups" ? "g" : "r"] as const);
  const buckets = one === undefined ? ALL_BUCKETS : [bucketOf(one.clientCode, one.propertyCode)];
  const find = (part: ScannedPart) => copiesOf(part, search);
  for (const bucket of buckets)
    for (const { subject, names, ids } of await searchLog(client, { bucket, resources, find })) {
      const of = identityText(subject);
      const known = found.get(of) ?? { ...subject, copies: 0, names: new Set(), profileIds: new Set() };
      known.copies += 1;
      for (const name of names) known.names.add(name);
      for (const id of ids) known.profileIds.add(id);
      found.set(of, known);
    }
  return [...found.values()];
}
