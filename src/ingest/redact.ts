import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { readRecord } from "#contract/read-record.ts";
import {
  hashProfileNames,
  identityOnly,
  profileIdsOf,
  profileNamesOf,
  redactRecord,
} from "#contract/redact-record.ts";
import { type Resource, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { namedStatement, readStatement, type Statement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { Semaphore } from "../platform/runtime/semaphore.ts";
import type { RejectedRecord, Submission, SubmittedRecord } from "./log/submission.ts";

export function hashKey(digits: string): KeyObject {
  return createSecretKey(Buffer.from(digits, "hex"));
}

/** HMAC-SHA256. A KeyObject, because importing key bytes would cost ten times as much as the hash. */
const keyedHash = (key: KeyObject, text: string) => createHmac("sha256", key).update(text);

const readVersion = namedStatement(
  "read-privacy-version",
  `select version::text as version from bellhop.privacy_version`,
);
/** As in `read-redaction-list.sql`. */
const readListVersion = namedStatement(
  "read-redaction-version",
  `select version || '/' || settings as version from bellhop.privacy_version`,
);
/** Returns a row if the version is still $1, and locks it until the transaction ends. */
const holdVersion = namedStatement(
  "hold-privacy-version",
  `select from bellhop.privacy_version where version = $1::bigint for share`,
);
const raiseVersion = namedStatement(
  "raise-privacy-version",
  `update bellhop.privacy_version set version = version + 1`,
);

/**
 * The version of the erasure list. An erasure raises it when it lists its subjects, and before and after rewriting messages made of
 * their records. Code that reads records in one transaction and writes their content in another must hold it for the write.
 */
export function readPrivacyVersion(on: Queryable): Promise<string> {
  return oneVersion(on, readVersion);
}

async function oneVersion(on: Queryable, statement: Statement): Promise<string> {
  const [row] = (await on.query<{ version: string }>(statement)).rows;
  if (row === undefined) throw new Error("bellhop.privacy_version has no row: the migrations did not run.");
  return row.version;
}

/** Returns whether the version is still `version`; if so, it does not change until the transaction ends. */
export async function holdPrivacyVersion(on: Queryable, version: string): Promise<boolean> {
  return (await on.query({ ...holdVersion, values: [version] })).rowCount === 1;
}

/** Waits for transactions that hold the version. Nothing read under the old version is written afterwards. */
export async function raisePrivacyVersion(on: Queryable): Promise<void> {
  await on.query(raiseVersion);
}

const readRedactionList = readStatement(new URL("./log/sql/read-redaction-list.sql", import.meta.url));

/** Prefix of a hashed name, and the number of base64url characters that follow (128 bits). */
const HASHED = "hash:";
const HASH_CHARACTERS = 22;

export interface RecordIdentity {
  readonly resource: Resource;
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly key: string;
}

/** A subject of an erasure as stored and exported; a profile's id is replaced by a digest. */
export interface ListedSubject {
  readonly clientCode: string;
  readonly propertyCode: string | null;
  readonly resource: ResourceLetter;
  readonly key: string | null;
  /** 64 hexadecimal digits. */
  readonly profile: string | null;
}

/** The setting for records with a count below zero. */
type NegativeCounts = "warn" | "quarantine" | "refuse";

interface ArrivalSetting {
  readonly name: "personalData" | "negativeCounts";
  readonly clientCode: string;
  readonly propertyCode: string | null;
  readonly value: string;
}

interface ListRow {
  readonly version: string;
  readonly subjects: readonly string[];
  readonly settings: readonly ArrivalSetting[];
  readonly list_key: string;
  readonly names_key: string;
}

interface PropertyRules {
  readonly keys: ReadonlySet<string>;
  /** Digests of profiles whose reservations are redacted. */
  readonly profiles: ReadonlySet<string>;
  readonly hashesNames: boolean;
}

const NONE: ReadonlySet<string> = new Set();

/** The subjects of a client code. */
interface ClientSubjects {
  /** Keys by property code. */
  readonly keys: ReadonlyMap<string | null, ReadonlySet<string>>;
  readonly profiles: ReadonlySet<string>;
}

function subjectsOf(listed: readonly ListedSubject[]): ClientSubjects {
  const ofProperties = Map.groupBy(listed, ({ propertyCode }) => propertyCode);
  const keysOf = (subjects: readonly ListedSubject[]) =>
    new Set(
      subjects.flatMap(({ resource, key }) => (key === null ? [] : keyText(resourceOf(resource), key))),
    );
  return {
    keys: new Map([...ofProperties].map(([propertyCode, subjects]) => [propertyCode, keysOf(subjects)])),
    profiles: new Set(listed.flatMap(({ profile }) => profile ?? [])),
  };
}

/** The keyed hash that identifies a profile in the erasure list, in hexadecimal. */
export function profileDigest(listKey: KeyObject, clientCode: string, profileId: string): string {
  return keyedHash(listKey, JSON.stringify([clientCode, profileId])).digest("hex");
}

/** Hashes of the names and ids of a record's profiles that were made before, because one record may have 100,000. */
interface ProfileHashes {
  readonly names: ReadonlyMap<string, string>;
  readonly ids: ReadonlyMap<string, string>;
}

const NO_HASHES: ProfileHashes = { names: new Map(), ids: new Map() };

const settingText = (name: string, clientCode: string, propertyCode: string) =>
  `${name}\0${clientCode}\0${propertyCode}`;

const keyText = (resource: Resource, key: string) => `${resource}\0${key}`;

/**
 * An immutable snapshot of the erasure list and the settings for incoming records. Redacts personal data of listed subjects, and
 * profile names of client codes whose personalData is `strip`.
 */
export class RedactionList {
  readonly version: string;
  /** Whether nothing is redacted. */
  readonly isEmpty: boolean;
  /** By setting, client code and property code ("": all properties). */
  readonly #settings: ReadonlyMap<string, string>;
  readonly #isStrict: boolean;
  readonly #listKey: KeyObject;
  readonly #namesKey: KeyObject;
  readonly #subjects: ReadonlyMap<string, ClientSubjects>;
  #last: { clientCode: string; propertyCode: string; rules: PropertyRules | undefined } | undefined;

  constructor(row: ListRow) {
    this.version = row.version;
    this.#settings = new Map(
      row.settings.map(({ name, clientCode, propertyCode, value }) => [
        settingText(name, clientCode, propertyCode ?? ""),
        value,
      ]),
    );
    this.#isStrict = row.settings.some(({ name, value }) => name === "negativeCounts" && value !== "warn");
    this.#listKey = hashKey(row.list_key);
    this.#namesKey = hashKey(row.names_key);
    const listed = row.subjects.map((subject) => JSON.parse(subject) as ListedSubject);
    this.#subjects = new Map(
      [...Map.groupBy(listed, ({ clientCode }) => clientCode)].map(([code, of]) => [code, subjectsOf(of)]),
    );
    this.isEmpty = this.#subjects.size === 0 && row.settings.every(({ value }) => value !== "strip");
  }

  negativeCounts(clientCode: string, propertyCode: string): NegativeCounts {
    if (!this.#isStrict) return "warn";
    return (this.#settingOf("negativeCounts", clientCode, propertyCode) as NegativeCounts) ?? "warn";
  }

  #settingOf(name: ArrivalSetting["name"], clientCode: string, propertyCode: string): string | undefined {
    const of = (code: string) => this.#settings.get(settingText(name, clientCode, code));
    return of(propertyCode) ?? of("");
  }

  /** Whether records of this property may need redaction. */
  concerns(clientCode: string, propertyCode: string): boolean {
    return this.#rulesOf(clientCode, propertyCode) !== undefined;
  }

  /** Whether the erasure list names a record. */
  isSubject(identity: RecordIdentity, bytes: Buffer): boolean {
    const rules = this.#rulesOf(identity.clientCode, identity.propertyCode);
    return rules !== undefined && this.#isSubject(rules, identity, bytes);
  }

  /** Whether one of the texts is the id of a listed profile; without a client code, of any. */
  namesProfile(clientCode: string | undefined, texts: readonly string[]): boolean {
    const codes = clientCode === undefined ? [...this.#subjects.keys()] : [clientCode];
    return codes.some((code) => {
      const listed = this.#subjects.get(code)?.profiles ?? NONE;
      return listed.size > 0 && texts.some((text) => listed.has(profileDigest(this.#listKey, code, text)));
    });
  }

  /** Makes the hashes that redacting a record needs, some in each turn of the event loop. */
  async hashesOf(
    resource: Resource,
    clientCode: string,
    propertyCode: string,
    bytes: Buffer,
  ): Promise<ProfileHashes> {
    const rules = this.#rulesOf(clientCode, propertyCode);
    if (rules === undefined || resource !== "reservations") return NO_HASHES;
    const names = rules.hashesNames ? profileNamesOf(bytes) : [];
    const ids = rules.profiles.size > 0 ? profileIdsOf(bytes) : [];
    return {
      names: await hashedInTurns(names, (name) => this.#nameHash(clientCode, name)),
      ids: await hashedInTurns(ids, (id) => profileDigest(this.#listKey, clientCode, id)),
    };
  }

  /** The redacted bytes of a record that the erasure list names; undefined if redaction changes nothing. */
  erased(identity: RecordIdentity, bytes: Buffer): Buffer | undefined {
    return this.isSubject(identity, bytes) ? this.#withoutPersonal(identity, bytes) : undefined;
  }

  #withoutPersonal(identity: RecordIdentity, bytes: Buffer): Buffer | undefined {
    const redacted = redactRecord(identity.resource, bytes);
    return redacted.equals(bytes) ? undefined : redacted;
  }

  /** The redacted bytes of a new record; undefined if it is stored verbatim. */
  redacted(identity: RecordIdentity, bytes: Buffer, hashes = NO_HASHES): Buffer | undefined {
    const rules = this.#rulesOf(identity.clientCode, identity.propertyCode);
    if (rules === undefined) return undefined;
    if (this.#isSubject(rules, identity, bytes, hashes)) return this.#withoutPersonal(identity, bytes);
    if (!rules.hashesNames || identity.resource !== "reservations") return undefined;
    return hashProfileNames(
      bytes,
      (name) => hashes.names.get(name) ?? this.#nameHash(identity.clientCode, name),
    );
  }

  /** As `redacted`, for an invalid record, of which only the identity is kept. */
  redactedRejected(resource: Resource, bytes: Buffer): Buffer | undefined {
    const { identity, clientCode, propertyCode, key } = identityOnly(resource, bytes);
    const reduced = identity.equals(bytes) ? undefined : identity;
    // The property is unknown, so the record may be one of a listed subject.
    if (clientCode === undefined || propertyCode === undefined) return this.isEmpty ? undefined : reduced;
    const rules = this.#rulesOf(clientCode, propertyCode);
    if (rules === undefined) return undefined;
    const isSubject = key !== undefined && rules.keys.has(keyText(resource, key));
    const isRedacted =
      isSubject || (resource === "reservations" && (rules.hashesNames || rules.profiles.size > 0));
    return isRedacted ? reduced : undefined;
  }

  #nameHash(clientCode: string, name: string): string {
    const hash = keyedHash(this.#namesKey, JSON.stringify([clientCode, name])).digest("base64url");
    return `${HASHED}${hash.slice(0, HASH_CHARACTERS)}`;
  }

  #isSubject(
    rules: PropertyRules,
    { resource, clientCode, key }: RecordIdentity,
    bytes: Buffer,
    { ids } = NO_HASHES,
  ): boolean {
    if (rules.keys.has(keyText(resource, key))) return true;
    if (rules.profiles.size === 0 || resource !== "reservations") return false;
    const digestOf = (id: string) => ids.get(id) ?? profileDigest(this.#listKey, clientCode, id);
    return profileIdsOf(bytes).some((id) => rules.profiles.has(digestOf(id)));
  }

  /** Only the last is kept: rejected records may name any number of properties. */
  #rulesOf(clientCode: string, propertyCode: string): PropertyRules | undefined {
    const last = this.#last;
    if (last?.clientCode === clientCode && last.propertyCode === propertyCode) return last.rules;
    const rules = this.#makeRules(clientCode, propertyCode);
    this.#last = { clientCode, propertyCode, rules };
    return rules;
  }

  #makeRules(clientCode: string, propertyCode: string): PropertyRules | undefined {
    const subjects = this.#subjects.get(clientCode);
    const keys = subjects?.keys.get(propertyCode) ?? NONE;
    const profiles = subjects?.profiles ?? NONE;
    const hashesNames = this.#settingOf("personalData", clientCode, propertyCode) === "strip";
    if (keys.size === 0 && profiles.size === 0 && !hashesNames) return undefined;
    return { keys, profiles, hashesNames };
  }
}

/** Hashes made between two turns of the event loop, in about 1 ms. */
const HASHES_A_TURN = 500;

async function hashedInTurns(
  texts: readonly string[],
  hashOf: (text: string) => string,
): Promise<ReadonlyMap<string, string>> {
  const hashes = new Map<string, string>();
  for (let from = 0; from < texts.length; from += HASHES_A_TURN) {
    if (from > 0) await new Promise((resume) => setImmediate(resume));
    for (const text of texts.slice(from, from + HASHES_A_TURN)) hashes.set(text, hashOf(text));
  }
  return hashes;
}

export async function loadRedactionList(on: Queryable): Promise<RedactionList> {
  const { rows } = await on.query<ListRow>(readRedactionList);
  const [row] = rows;
  if (row === undefined) throw new Error("The erasure list could not be read.");
  return new RedactionList(row);
}

/** The list is renewed in the background after this time. Appliers redact batches accepted under an older list. */
const RENEW_AFTER_MS = 500;

/** A thread's copy of the redaction list, about 0.5 s old under steady traffic; renewed only while used. */
export interface RedactionListWatch {
  /** A promise only for the first read, which rejects if the database fails. */
  current(): RedactionList | Promise<RedactionList>;
}

export function watchRedactionList(pool: Queryable, failed: (error: unknown) => void): RedactionListWatch {
  let list: RedactionList | undefined;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let renewing: Promise<RedactionList> | undefined;
  const read = async () => {
    readAtMs = performance.now();
    if (list === undefined || (await oneVersion(pool, readListVersion)) !== list.version)
      list = await loadRedactionList(pool);
    return list;
  };
  const renew = () => {
    renewing ??= read().finally(() => {
      renewing = undefined;
    });
    return renewing;
  };
  return {
    current() {
      if (list === undefined) return renew();
      if (performance.now() - readAtMs >= RENEW_AFTER_MS) renew().catch(failed);
      return list;
    },
  };
}

/** Bytes redacted per turn of the event loop, about 1 ms. */
const REDACTED_BYTES_A_TURN = 65_536;

/** A validated batch. */
export type CheckedBatch = Pick<Submission, "body" | "records" | "rejected">;

/** Whether any record of a batch may need redaction. */
function isConcerned({ records, rejected }: CheckedBatch, redactions: RedactionList): boolean {
  if (redactions.isEmpty) return false;
  if (rejected.length > 0) return true;
  let last: SubmittedRecord | undefined;
  for (const record of records) {
    const { clientCode, propertyCode } = record;
    if (last?.clientCode === clientCode && last.propertyCode === propertyCode) continue;
    if (redactions.concerns(clientCode, propertyCode)) return true;
    last = record;
  }
  return false;
}

/** The hashes of a large record take 20 MB, so that one is redacted at a time. Client codes take turns. */
const hashing = new Semaphore(1, Number.POSITIVE_INFINITY);

/** The redacted bytes of a record; undefined if it is stored verbatim. A promise only for a large one, whose hashes take several turns. */
function redactedOf(
  resource: Resource,
  bytes: Buffer,
  record: SubmittedRecord | RejectedRecord,
  redactions: RedactionList,
): Buffer | undefined | Promise<Buffer | undefined> {
  if ("violations" in record) return redactions.redactedRejected(resource, bytes);
  const { clientCode, propertyCode } = record;
  if (!redactions.concerns(clientCode, propertyCode)) return undefined;
  const { key } = readRecord(resource, bytes);
  const identity = { resource, clientCode, propertyCode, key };
  if (bytes.length < REDACTED_BYTES_A_TURN) return redactions.redacted(identity, bytes);
  return hashing.run(async () => {
    const hashes = await redactions.hashesOf(resource, clientCode, propertyCode, bytes);
    return redactions.redacted(identity, bytes, hashes);
  }, clientCode);
}

/** Redacts a batch before it is stored (docs/privacy.md). Redacted records get bytes of their own; the body is not copied. */
export function redactBatch(
  resource: Resource,
  batch: CheckedBatch,
  redactions: RedactionList,
): CheckedBatch | Promise<CheckedBatch> {
  return isConcerned(batch, redactions) ? redactInTurns(resource, batch, redactions) : batch;
}

async function redactInTurns(
  resource: Resource,
  { body, records, rejected }: CheckedBatch,
  redactions: RedactionList,
): Promise<CheckedBatch> {
  let left = REDACTED_BYTES_A_TURN;
  const keptOf = async <Kept extends SubmittedRecord | RejectedRecord>(
    all: readonly Kept[],
  ): Promise<Kept[]> => {
    const kept: Kept[] = [];
    for (const record of all) {
      const came = body.subarray(record.start, record.end);
      const redacted = redactedOf(resource, came, record, redactions);
      const bytes = redacted instanceof Promise ? await redacted : redacted;
      kept.push(bytes === undefined ? record : { ...record, bytes, start: 0, end: bytes.length });
      left -= came.length;
      if (left > 0) continue;
      left = REDACTED_BYTES_A_TURN;
      await new Promise((resume) => setImmediate(resume));
    }
    return kept;
  };
  return { body, records: await keptOf(records), rejected: await keptOf(rejected) };
}
