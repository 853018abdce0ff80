import { readRecord } from "#contract/read-record.ts";
import { profileIdsOf, profileNamesOf } from "#contract/redact-record.ts";
import { resourceOf } from "#contract/resource.ts";
import { ALL_BUCKETS, bucketOf } from "../../ingest/log/bucket.ts";
import type { Queryable } from "../../platform/db/transaction.ts";
import { scanBucket } from "../../retention/scan-log.ts";
import { identityText } from "./hash-overrides.ts";
import type { RecordSubject } from "./subject.ts";

/** What a guest is looked for by. A name is found within a name, whatever the case. */
export type GuestSearch =
  | { readonly kind: "record"; readonly subject: RecordSubject }
  | { readonly kind: "profile"; readonly profileId: string; readonly clientCode: string | null }
  | { readonly kind: "name"; readonly name: string; readonly clientCode: string | null };

/** A record that was found, with what an operator knows the guest by. */
export interface FoundRecord extends RecordSubject {
  /** How many times it lies in the log, each copy counted. */
  copies: number;
  readonly names: Set<string>;
  readonly profileIds: Set<string>;
}

const BYTES_A_TURN = 131_072;

function isFound(search: GuestSearch, clientCode: string, names: readonly string[], ids: readonly string[]) {
  if (search.kind === "record") return false;
  if (search.clientCode !== null && search.clientCode !== clientCode) return false;
  if (search.kind === "profile") return ids.includes(search.profileId);
  const wanted = search.name.toLowerCase();
  return names.some((name) => name.toLowerCase().includes(wanted));
}

function bucketsOf(search: GuestSearch): readonly number[] {
  if (search.kind === "record") return [bucketOf(search.subject.clientCode, search.subject.propertyCode)];
  return ALL_BUCKETS;
}

/**
 * Finds records of a guest by reading the log, newest copies and old ones alike: about a million records in some seconds. A record
 * whose newest copy does not name the guest any more is found, too, as long as an older one does.
 */
export async function findGuests(client: Queryable, search: GuestSearch): Promise<FoundRecord[]> {
  const found = new Map<string, FoundRecord>();
  let sinceTurn = 0;
  for (const bucket of bucketsOf(search)) {
    const letters =
      search.kind === "record" && search.subject.resource === "groups" ? ["g" as const] : ["r" as const];
    for await (const { part, records } of scanBucket(client, bucket, letters, new Map())) {
      for (const { bytes, isRejected } of records) {
        if (isRejected) continue;
        sinceTurn += bytes.length;
        const resource = resourceOf(part.resource) as RecordSubject["resource"];
        const { clientCode, propertyCode, key } = readRecord(resource, bytes);
        const subject: RecordSubject = { resource, clientCode, propertyCode, key };
        const isSame = search.kind === "record" && identityText(subject) === identityText(search.subject);
        if (search.kind === "record" && !isSame) continue;
        const names = profileNamesOf(bytes);
        const ids = profileIdsOf(bytes);
        if (!isSame && !isFound(search, clientCode, names, ids)) continue;
        const of = identityText(subject);
        const known = found.get(of) ?? { ...subject, copies: 0, names: new Set(), profileIds: new Set() };
        known.copies += 1;
        for (const name of names) known.names.add(name);
        for (const id of ids) known.profileIds.add(id);
        found.set(of, known);
      }
      if (sinceTurn < BYTES_A_TURN) continue;
      sinceTurn = 0;
      await new Promise((resume) => setImmediate(resume));
    }
  }
  return [...found.values()];
}
