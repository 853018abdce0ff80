import { letterOf, type ResourceLetter } from "#contract/resource.ts";
import { KeyedHash } from "../../ingest/log/keyed-hash.ts";
import { profileDigest } from "../../ingest/redact/redaction-list.ts";
import { namedStatement } from "../../platform/db/statement.ts";
import type { Queryable } from "../../platform/db/transaction.ts";

const readListKey = namedStatement(
  "read-list-key",
  `select value from bellhop.instance where name = 'privacy.list'`,
);

/** One record: a reservation, or a group block master. */
export interface RecordSubject {
  readonly resource: "reservations" | "groups";
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly key: string;
}

/** Every reservation of a client code that names a profile. */
export interface ProfileSubject {
  readonly clientCode: string;
  readonly profileId: string;
}

export type Subject = RecordSubject | ProfileSubject;

/** A subject as it is kept and exported: of a profile only what its id cannot be read from. */
export interface ListedSubject {
  readonly clientCode: string;
  readonly propertyCode: string | null;
  readonly resource: ResourceLetter;
  readonly key: string | null;
  /** 64 hexadecimal digits. */
  readonly profile: string | null;
}

/** The key under which profiles are listed: 64 hexadecimal digits, the installation's own. */
export async function readProfileKey(on: Queryable): Promise<string> {
  const { rows } = await on.query<{ value: string }>(readListKey);
  const value = rows[0]?.value;
  if (value === undefined)
    throw new Error("bellhop.instance has no privacy.list: the migrations did not run.");
  return value;
}

/** A subject as the list keeps it. */
export function listedSubject(subject: Subject, profileKey: string): ListedSubject {
  const { clientCode } = subject;
  if ("profileId" in subject) {
    const profile = profileDigest(new KeyedHash(profileKey), clientCode, subject.profileId);
    return { clientCode, propertyCode: null, resource: "r", key: null, profile };
  }
  const { propertyCode, resource, key } = subject;
  return { clientCode, propertyCode, resource: letterOf(resource), key, profile: null };
}
