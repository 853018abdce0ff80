import { readStatement } from "../db/statement.ts";
import type { Queryable } from "../db/transaction.ts";

const readVersion = readStatement(new URL("./sql/read-privacy-version.sql", import.meta.url));
const holdVersion = readStatement(new URL("./sql/hold-privacy-version.sql", import.meta.url));
const raiseVersion = readStatement(new URL("./sql/raise-privacy-version.sql", import.meta.url));

/**
 * The number of all that is to be stripped, which an erasure raises twice: when its subjects are listed, and when they are taken
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
