import type pg from "pg";
import { isAtLeast } from "./code-version.ts";
import { isMigration, readRecords } from "./migration-records.ts";
import { versionsPresent } from "./presence.ts";
import type { Queryable } from "./transaction.ts";

/** What the database holds from now on, and the oldest version that can read it. */
export interface NewerContent {
  /** In words, as an older version's refusal to start names it: `sealed payloads`. */
  readonly what: string;
  /** `0.2.0` */
  readonly oldest: string;
}

/** What there is of it. Whoever adds another form of what is stored adds it here, and says so where it begins. */
export const NEWER_CONTENT = {
  sealedParts: { what: "sealed batches in the log", oldest: "0.2.0" },
  rewrittenParts: { what: "batches that were rewritten in the log", oldest: "0.2.0" },
  windowsOfTime: { what: "tables in windows of time", oldest: "0.2.0" },
  erasureList: { what: "an erasure list", oldest: "0.2.0" },
  exchangesInLedger: { what: "exchanges in the stay-night ledger", oldest: "0.2.0" },
  pepperAfterTheFirst: { what: "a second pepper", oldest: "0.2.0" },
} as const satisfies Readonly<Record<string, NewerContent>>;

/** Nodes are there that could not read what is to be stored; the message says which version, for the operator. */
export class OlderNodesPresent extends Error {}

/**
 * Called before something is stored for the first time that older versions cannot read, in the transaction that begins it: from
 * its commit on they refuse to start on this database (docs/upgrades.md), so that there is no way back. Throws OlderNodesPresent
 * while such a node runs. Done again it does nothing.
 */
export async function leaveOlderVersions(
  client: pg.ClientBase,
  { what, oldest }: NewerContent,
): Promise<void> {
  const older = (await versionsPresent(client)).filter((version) => !isAtLeast(version, oldest));
  if (older.length > 0)
    throw new OlderNodesPresent(
      `Version ${older[0]} runs, which cannot read ${what}: upgrade every node to ${oldest} or a newer version first.`,
    );
  await client.query(
    "insert into bellhop_migration.applied (name, checksum, oldest) values ($1, '', $2) on conflict do nothing",
    [what, oldest],
  );
}

/** Whether versions before this one start on the database no more: what they cannot read may be stored. */
export async function hasLeftOlderVersions(on: Queryable, { oldest }: NewerContent): Promise<boolean> {
  return (await readNewerContent(on)).some((content) => isAtLeast(content.oldest, oldest));
}

/** What the database holds of it: to be begun again, by `leaveOlderVersions`, wherever its rows are taken. */
export async function readNewerContent(on: Queryable): Promise<readonly NewerContent[]> {
  const records = await readRecords(on);
  return records.flatMap(({ name: what, oldest }) =>
    oldest === null || isMigration(what) ? [] : [{ what, oldest }],
  );
}
