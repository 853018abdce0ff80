import { hashProfileNames, identityOnly, profileIdsOf, redactRecord } from "#contract/redact-record.ts";
import { type Resource, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { readStatement } from "../../platform/db/statement.ts";
import type { Queryable } from "../../platform/db/transaction.ts";
import { KeyedHash } from "../log/keyed-hash.ts";

const readRedactionList = readStatement(new URL("../log/sql/read-redaction-list.sql", import.meta.url));

/** What a hashed name begins with, and how many characters of the hash stand in the record: 128 bits. */
const HASHED = "hash:";
const HASH_CHARACTERS = 22;

/** Whose a record is, and its key. */
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

interface NamesSetting {
  readonly clientCode: string;
  readonly propertyCode: string | null;
  readonly value: string;
}

interface ListRow {
  readonly version: string;
  readonly subjects: readonly string[];
  readonly settings: readonly NamesSetting[];
  readonly list_key: string;
  readonly names_key: string;
}

/** What is redacted of the records of one property. */
interface PropertyRules {
  readonly keys: ReadonlySet<string>;
  /** Digests of profiles of which every reservation is redacted. */
  readonly profiles: ReadonlySet<string>;
  readonly hashesNames: boolean;
}

const NONE: ReadonlySet<string> = new Set();

/** By which a profile is known in the erasure list: its id, under the installation's key, as hexadecimal digits. */
export function profileDigest(listKey: KeyedHash, clientCode: string, profileId: string): string {
  return listKey.digest(JSON.stringify([clientCode, profileId])).toString("hex");
}

const keyText = (resource: Resource, key: string) => `${resource}\0${key}`;

/**
 * What is taken out of records before they are kept: of the subjects of the erasure list all that is personal, and of client codes
 * that are set so the names of profiles. As of one instant; nothing of it changes.
 */
export class RedactionList {
  readonly version: string;
  /** Whether nothing at all is redacted, as nearly always. */
  readonly isEmpty: boolean;
  readonly #settings: readonly NamesSetting[];
  readonly #listKey: KeyedHash;
  readonly #namesKey: KeyedHash;
  readonly #byProperty = new Map<string, PropertyRules | undefined>();
  readonly #subjects: ReadonlyMap<string, readonly Subject[]>;
  #last: { clientCode: string; propertyCode: string; rules: PropertyRules | undefined } | undefined;

  constructor(row: ListRow) {
    this.version = row.version;
    this.#settings = row.settings;
    this.#listKey = new KeyedHash(row.list_key);
    this.#namesKey = new KeyedHash(row.names_key);
    this.#subjects = Map.groupBy(
      row.subjects.map((subject) => JSON.parse(subject) as Subject),
      ({ clientCode }) => clientCode,
    );
    this.isEmpty = this.#subjects.size === 0 && row.settings.every(({ value }) => value !== "strip");
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

  /** A record of the erasure list without what is personal of it; undefined where there is nothing to take out. */
  erased(identity: RecordIdentity, bytes: Buffer): Buffer | undefined {
    const rules = this.#rulesOf(identity.clientCode, identity.propertyCode);
    if (rules === undefined || !this.#isSubject(rules, identity, bytes)) return undefined;
    const redacted = redactRecord(identity.resource, bytes);
    return redacted.equals(bytes) ? undefined : redacted;
  }

  /** A record as it is to be kept that has just arrived; undefined where it is kept as it was sent. */
  redacted(identity: RecordIdentity, bytes: Buffer): Buffer | undefined {
    if (this.isSubject(identity, bytes)) return this.erased(identity, bytes);
    const rules = this.#rulesOf(identity.clientCode, identity.propertyCode);
    if (rules?.hashesNames !== true || identity.resource !== "reservations") return undefined;
    return this.#namesHashed(identity.clientCode, bytes);
  }

  /** The same of a record that was refused, of which only what says whose it is can be told apart. */
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
      const hash = this.#namesKey.digest(JSON.stringify([clientCode, name])).toString("base64url");
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
    const said = (code: string | null) =>
      this.#settings.find((one) => one.clientCode === clientCode && one.propertyCode === code)?.value;
    const hashesNames = (said(propertyCode) ?? said(null)) === "strip";
    if (keys.size === 0 && profiles.size === 0 && !hashesNames) return undefined;
    return { keys, profiles: profiles.size === 0 ? NONE : profiles, hashesNames };
  }
}

/** Reads the list as it stands now. */
export async function loadRedactionList(on: Queryable): Promise<RedactionList> {
  const { rows } = await on.query<ListRow>(readRedactionList);
  const [row] = rows;
  if (row === undefined) throw new Error("The erasure list could not be read.");
  return new RedactionList(row);
}
