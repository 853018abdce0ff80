import type pg from "pg";
import { type RowWriter, writeItems } from "../../platform/db/write-rows.ts";
import type { NewVersion, RecordKey, Version } from "./record-state.ts";
import { RESOURCE_LETTERS, VERSION_TABLES } from "./version-tables.ts";

const COLUMNS = {
  source_time: "timestamptz",
  facts_source_time: "timestamptz",
  change_no: "bigint",
  property_id: "integer",
  record_index: "integer",
  from_date: "date",
  to_date: "date",
  bucket: "smallint",
  outcome: '"char"',
  request_id: "uuid",
  content_hash: "bytea",
  key: "text",
  status: "text",
  facts: "text",
  is_update: "boolean",
} as const;

function addVersion(
  rows: RowWriter,
  { of, version, outcome, changeNumber, isUpdate, facts }: NewVersion,
): void {
  const { status, fromDate, toDate } = version.filters();
  rows.row();
  rows.timestamp(version.sourceTime);
  rows.timestamp(version.factsSourceTime);
  if (changeNumber === null) rows.null();
  else rows.bigint(changeNumber);
  rows.integer(of.propertyId);
  rows.integer(version.index);
  rows.date(fromDate);
  rows.date(toDate);
  rows.smallint(of.bucket);
  rows.letter(outcome);
  rows.uuid(version.requestId);
  rows.hex(version.contentHash);
  rows.text(of.key);
  if (status === null) rows.null();
  else rows.text(status);
  if (facts === null) rows.null();
  else rows.written(facts);
  if (changeNumber === null) rows.null();
  else rows.boolean(isUpdate);
}

/** Writes new versions with their typed facts. Throws UnstorableFact for facts that could not be read again. */
export async function insertVersions(client: pg.ClientBase, versions: readonly NewVersion[]): Promise<void> {
  for (const resource of RESOURCE_LETTERS) {
    const ofResource = versions.filter(({ of }) => of.resource === resource);
    const into = { table: VERSION_TABLES[resource].table, columns: COLUMNS };
    await writeItems(client, into, ofResource, addVersion);
  }
}

/**
 * Writes the receipts of versions that exist, where a copy that another log writer received first was applied later, and the
 * change number of one that became current by that, in the place of another (null leaves the number as it is).
 */
export async function writeReceipts(
  client: pg.ClientBase,
  received: readonly {
    readonly of: RecordKey;
    readonly version: Version;
    readonly changeNumber: number | null;
  }[],
): Promise<void> {
  for (const { of, version, changeNumber } of received) {
    await client.query(
      `update ${VERSION_TABLES[of.resource].table}
       set request_id = $6, record_index = $7, change_no = coalesce($8::bigint, change_no),
         is_update = $8::bigint is not null or is_update
       where bucket = $1 and property_id = $2 and key = $3 and source_time = $4 and content_hash = decode($5, 'hex')`,
      [
        of.bucket,
        of.propertyId,
        of.key,
        version.sourceTime,
        version.contentHash,
        version.requestId,
        version.index,
        changeNumber,
      ],
    );
  }
}
