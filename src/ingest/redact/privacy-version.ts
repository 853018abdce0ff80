import { namedStatement } from "../../platform/db/statement.ts";
import type { Queryable } from "../../platform/db/transaction.ts";

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
 * The number of all that is to be redacted, which an erasure raises twice: when its subjects are listed, and when they are taken
 * out of the log and of records, before it looks at what was made of those. Who reads records in one transaction and writes in
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

/** Waits for whoever holds it. What was read before is not written from here on. */
export async function raisePrivacyVersion(on: Queryable): Promise<void> {
  await on.query(raiseVersion);
}
