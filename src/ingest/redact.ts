import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { readRecord } from "#contract/read-record.ts";
import { hashProfileNames, identityOnly, profileIdsOf, redactRecord } from "#contract/redact-record.ts";
import { type Resource, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import type { RejectedRecord, Submission, SubmittedRecord } from "./log/log-writer-session.ts";

/** The key of `keyedHash`, of hexadecimal digits. */
export function hashKey(digits: string): KeyObject {
  return createSecretKey(Buffer.from(digits, "hex"));
}

/** HMAC-SHA256. With a KeyObject, as one made of each text's own key bytes would cost ten times as much as the hash. */
const keyedHash = (key: KeyObject, text: string) => createHmac("sha256", key).update(text);

const readVersion = namedStatement(
  "read-privacy-version",
  `select version::text as version from bellhop.privacy_version`,
);
/** A row if all that is redacted is still as of $1; nobody raises the number before the transaction ends. */
const holdVersion = namedStatement(
  "hold-privacy-version",
  `select from bellhop.privacy_version where version = $1::bigint for share`,
);
const raiseVersion = namedStatement(
  "raise-privacy-version",
  `update bellhop.privacy_version set version = version + 1`,
);

/**
 * The number of all that is to be redacted, which an erasure raises when its subjects are listed, and before and after it rewrites
 * messages that were made of their records. Who reads records in one transaction and writes in
 * another what they say reads this first, and writes only while it holds.
 */
export async function readPrivacyVersion(on: Queryable): Promise<string> {
  const [row] = (await on.query<{ version: string }>(readVersion)).rows;
  if (row === undefined) throw new Error("bellhop.privacy_version has no row: the migrations did not run.");
  return row.version;
}

/** Whether it still is `version`; then it stays so until the caller's transaction ends. */
export async function holdPrivacyVersion(on: Queryable, version: string): Promise<boolean> {
  return (await on.query({ ...holdVersion, values: [version] })).rowCount === 1;
}

/** Waits for transactions that hold the version. Nothing read under the old version is written from here on. */
export async function raisePrivacyVersion(on: Queryable): Promise<void> {
  await on.query(raiseVersion);
}

const readRedactionList = readStatement(new URL("./log/sql/read-redaction-list.sql", import.meta.url));

/** What a hashed name begins with, and how many characters of the hash stand in the record: 128 bits. */
const HASHED = "hash:";
const HASH_CHARACTERS = 22;

export interface RecordIdentity {
  readonly resource: Resource;
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly key: string;
}

interface Subject {
  readonly clientCode: string;
  readonly propertyCode: string | null;
  readonly resource: ResourceLetter;
  readonly key: string | null;
  readonly profile: string | null;
}

/** What is done with a record that has a count below zero. */
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
  /** Digests of profiles of which every reservation is redacted. */
  readonly profiles: ReadonlySet<string>;
  readonly hashesNames: boolean;
}

const NONE: ReadonlySet<string> = new Set();

/** By which a profile is known in the erasure list: its id, under the installation's key, as hexadecimal digits. */
export function profileDigest(listKey: KeyObject, clientCode: string, profileId: string): string {
  return keyedHash(listKey, JSON.stringify([clientCode, profileId])).digest("hex");
}

const settingText = (name: string, clientCode: string, propertyCode: string) =>
  `${name}\0${clientCode}\0${propertyCode}`;

const keyText = (resource: Resource, key: string) => `${resource}\0${key}`;

/**
 * What is removed from records before they are kept: of the subjects of the erasure list all that is personal, and of client codes
 * that are set so the names of profiles. Also what is done with counts below zero. As of one instant; nothing of it changes.
 */
export class RedactionList {
  readonly version: string;
  /** Whether nothing at all is redacted, as nearly always. */
  readonly isEmpty: boolean;
  /** By setting, client code and property code, "" for all properties. */
  readonly #settings: ReadonlyMap<string, string>;
  readonly #isStrict: boolean;
  readonly #listKey: KeyObject;
  readonly #namesKey: KeyObject;
  readonly #byProperty = new Map<string, PropertyRules | undefined>();
  readonly #subjects: ReadonlyMap<string, readonly Subject[]>;
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
    this.#subjects = Map.groupBy(
      row.subjects.map((subject) => JSON.parse(subject) as Subject),
      ({ clientCode }) => clientCode,
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

  /** Whether anything of the records of this property may have to be redacted. */
  concerns(clientCode: string, propertyCode: string): boolean {
    return this.#rulesOf(clientCode, propertyCode) !== undefined;
  }

  /** Whether a record is one that the erasure list names. */
  isSubject(identity: RecordIdentity, bytes: Buffer): boolean {
    const rules = this.#rulesOf(identity.clientCode, identity.propertyCode);
    return rules !== undefined && this.#isSubject(rules, identity, bytes);
  }

  /** The redacted bytes of a record that the erasure list names; undefined if redaction changes nothing. */
  erased(identity: RecordIdentity, bytes: Buffer): Buffer | undefined {
    if (!this.isSubject(identity, bytes)) return undefined;
    const redacted = redactRecord(identity.resource, bytes);
    return redacted.equals(bytes) ? undefined : redacted;
  }

  /** A newly arrived record as it is to be stored; undefined if it is stored verbatim. */
  redacted(identity: RecordIdentity, bytes: Buffer): Buffer | undefined {
    if (this.isSubject(identity, bytes)) return this.erased(identity, bytes);
    const rules = this.#rulesOf(identity.clientCode, identity.propertyCode);
    if (rules?.hashesNames !== true || identity.resource !== "reservations") return undefined;
    return this.#namesHashed(identity.clientCode, bytes);
  }

  /** As `redacted`, for a refused record, of which only the identity is known. */
  redactedRejected(resource: Resource, bytes: Buffer): Buffer | undefined {
    const { identity, clientCode, propertyCode, key } = identityOnly(resource, bytes);
    const reduced = identity.equals(bytes) ? undefined : identity;
    // Whose it is cannot be read, so it may be anybody's of whom something is redacted.
    if (clientCode === undefined || propertyCode === undefined) return this.isEmpty ? undefined : reduced;
    const rules = this.#rulesOf(clientCode, propertyCode);
    if (rules === undefined) return undefined;
    const isSubject = key !== undefined && rules.keys.has(keyText(resource, key));
    const isRedacted =
      isSubject || (resource === "reservations" && (rules.hashesNames || rules.profiles.size > 0));
    return isRedacted ? reduced : undefined;
  }

  #namesHashed(clientCode: string, bytes: Buffer): Buffer {
    return hashProfileNames(bytes, (name) => {
      const hash = keyedHash(this.#namesKey, JSON.stringify([clientCode, name])).digest("base64url");
      return `${HASHED}${hash.slice(0, HASH_CHARACTERS)}`;
    });
  }

  #isSubject(rules: PropertyRules, { resource, clientCode, key }: RecordIdentity, bytes: Buffer): boolean {
    if (rules.keys.has(keyText(resource, key))) return true;
    if (rules.profiles.size === 0 || resource !== "reservations") return false;
    return profileIdsOf(bytes).some((id) => rules.profiles.has(profileDigest(this.#listKey, clientCode, id)));
  }

  /** Most batches name one property, which is looked up once. */
  #rulesOf(clientCode: string, propertyCode: string): PropertyRules | undefined {
    const last = this.#last;
    if (last?.clientCode === clientCode && last.propertyCode === propertyCode) return last.rules;
    const of = JSON.stringify([clientCode, propertyCode]);
    if (!this.#byProperty.has(of)) this.#byProperty.set(of, this.#makeRules(clientCode, propertyCode));
    const rules = this.#byProperty.get(of);
    this.#last = { clientCode, propertyCode, rules };
    return rules;
  }

  #makeRules(clientCode: string, propertyCode: string): PropertyRules | undefined {
    const subjects = this.#subjects.get(clientCode) ?? [];
    const keys = new Set<string>();
    for (const { propertyCode: of, resource, key } of subjects)
      if (of === propertyCode && key !== null) keys.add(keyText(resourceOf(resource), key));
    const profiles = new Set(subjects.flatMap(({ profile }) => profile ?? []));
    const hashesNames = this.#settingOf("personalData", clientCode, propertyCode) === "strip";
    if (keys.size === 0 && profiles.size === 0 && !hashesNames) return undefined;
    return { keys, profiles: profiles.size === 0 ? NONE : profiles, hashesNames };
  }
}

export async function loadRedactionList(on: Queryable): Promise<RedactionList> {
  const { rows } = await on.query<ListRow>(readRedactionList);
  const [row] = rows;
  if (row === undefined) throw new Error("The erasure list could not be read.");
  return new RedactionList(row);
}

/**
 * The list is renewed in the background after this time. The applier redacts batches checked by an older list, as it
 * knows every subject whose records have been redacted.
 */
const RENEW_AFTER_MS = 500;

/** A thread's copy of what is redacted on arrival: about half a second old under steady traffic, asked for only while it is used. */
export interface RedactionListWatch {
  /** The list; a promise only where there is none yet, which rejects when the database cannot be asked. */
  current(): RedactionList | Promise<RedactionList>;
}

export function watchRedactionList(pool: Queryable, failed: (error: unknown) => void): RedactionListWatch {
  let list: RedactionList | undefined;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let looking: Promise<RedactionList> | undefined;
  const read = async () => {
    lookedAtMs = performance.now();
    if (list === undefined || (await readPrivacyVersion(pool)) !== list.version)
      list = await loadRedactionList(pool);
    return list;
  };
  const look = () => {
    looking ??= read().finally(() => {
      looking = undefined;
    });
    return looking;
  };
  return {
    current() {
      if (list === undefined) return look();
      if (performance.now() - lookedAtMs >= RENEW_AFTER_MS) look().catch(failed);
      return list;
    },
  };
}

/** Bytes redacted between two turns of the event loop: about a millisecond's work. */
const REDACTED_BYTES_A_TURN = 65_536;

/** A batch whose records were checked: those to accept, those rejected (none unless lenient), and the bytes they lie in. */
export type CheckedBatch = Pick<Submission, "body" | "records" | "rejected">;

/** Whether any of a batch's records may have to be redacted: one look-up for each property in a row. */
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

/** A record as it is to be kept, where it is not kept as it came. */
function redactedOf(
  resource: Resource,
  bytes: Buffer,
  record: SubmittedRecord | RejectedRecord,
  redactions: RedactionList,
): Buffer | undefined {
  if ("violations" in record) return redactions.redactedRejected(resource, bytes);
  const { clientCode, propertyCode } = record;
  if (!redactions.concerns(clientCode, propertyCode)) return undefined;
  const { key } = readRecord(resource, bytes);
  return redactions.redacted({ resource, clientCode, propertyCode, key }, bytes);
}

/**
 * Takes out of a batch, before it is kept, what the erasure list names and what client codes are set not to keep
 * (docs/privacy.md). The batch itself, where that is nothing, as nearly always; else a promise of one in which each record that
 * is redacted has bytes of its own. The body, for which room was taken, is not copied.
 */
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
      const bytes = redactedOf(resource, came, record, redactions);
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
