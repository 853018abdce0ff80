import type pg from "pg";
import { recordAudit } from "../../auth/audit.ts";
import { identityOnly } from "../../contract/strip-record.ts";
import { withExclusiveWork } from "../../db/exclusive-work.ts";
import { readStatement } from "../../db/statement.ts";
import { withTransaction } from "../../db/transaction.ts";
import { endLeases } from "../end-leases.ts";
import { rewriteMessages } from "../erasure/redact-elsewhere.ts";
import { forgetStatistics } from "../forget-statistics.ts";
import { rewriteRejected } from "../rewrite-rejected.ts";
import type { LanePositions } from "../scan-log.ts";
import { type DeletedProperty, deleteRows, type RowCounts } from "./delete-rows.ts";
import { DeletionError } from "./deletion-error.ts";
import { countWaiting, dropRecords, findRecordsOf } from "./drop-records.ts";

const findProperties = readStatement(new URL("./sql/find-properties-of-client.sql", import.meta.url));
const markDeleted = readStatement(new URL("./sql/mark-deleted.sql", import.meta.url));
const takeGrants = readStatement(new URL("./sql/take-grants.sql", import.meta.url));
const deleteSettings = readStatement(new URL("./sql/delete-client-settings.sql", import.meta.url));

/** Where more than rows by property is taken away. */
const OTHERS_WITH_CONTENT = [
  ...["bellhop.accept_log", "bellhop.request_outcome", "bellhop.webhook_message"],
  ...["bellhop.property_setting", "bellhop.status_mapping", "bellhop.client_grant"],
];

const GONE = Buffer.from("null");

export interface DeletionOrder {
  readonly clientCode: string;
  /** Null: every property of the client code, with its settings, labels and grants. */
  readonly propertyCode: string | null;
  /** Count, and change nothing. */
  readonly isDryRun: boolean;
  readonly reason: string;
  /** Who, as for the audit. */
  readonly who: string;
}

export interface DeletionReport {
  readonly properties: readonly { readonly clientCode: string; readonly propertyCode: string }[];
  /** Copies of records in the log. */
  readonly logRecords: number;
  /** Rows by table. */
  readonly rows: Readonly<Record<string, number>>;
}

/**
 * Deletes all that is kept of a property, or of a whole client code; with a dry run it only counts. Each property goes in one
 * transaction, under its bucket's lease. Throws DeletionError for what is not known or is still being applied, and WorkUnderWay.
 */
export async function deleteData(client: pg.ClientBase, order: DeletionOrder): Promise<DeletionReport> {
  return withExclusiveWork(client, async () => {
    const { clientCode, propertyCode, isDryRun } = order;
    const { rows: properties } = await client.query<DeletedProperty>({
      ...findProperties,
      values: [clientCode, propertyCode],
    });
    if (properties.length === 0)
      throw new DeletionError(
        `No batch has ever named ${[clientCode, ...[propertyCode ?? []].flat()].join("/")}.`,
      );
    // Before anything goes: one that is cut off has taken something, and says by whom and why.
    if (!isDryRun) {
      const detail = { clientCode, propertyCode, reason: order.reason, properties: properties.length };
      await recordAudit(client, { who: order.who, what: "begin-deletion", detail });
    }
    const counts: RowCounts = new Map();
    let logRecords = 0;
    for (const property of properties) logRecords += await deleteProperty(client, property, counts, isDryRun);
    const report = {
      properties: properties.map((of) => ({ clientCode: of.clientCode, propertyCode: of.propertyCode })),
      logRecords,
      rows: Object.fromEntries(counts),
    };
    if (isDryRun) return report;
    // Whoever's bucket they lie in.
    await rewriteRejected(client, (resource, bytes) => {
      const of = identityOnly(resource, bytes);
      const isGone = of.clientCode === clientCode && (propertyCode ?? of.propertyCode) === of.propertyCode;
      return isGone ? "drop" : "keep";
    });
    // A reader sees that there was a record, as of one that is too long for a message.
    await rewriteMessages(client, (of, bytes) =>
      of.clientCode === clientCode && (propertyCode ?? of.propertyCode) === of.propertyCode ? GONE : bytes,
    );
    await withTransaction(client, async () => {
      if (propertyCode === null) {
        await client.query({ ...takeGrants, values: [clientCode] });
        await client.query({ ...deleteSettings, values: [clientCode] });
      }
      const what = propertyCode === null ? "delete-client-code" : "delete-property";
      await recordAudit(client, {
        who: order.who,
        what,
        detail: { clientCode, propertyCode, reason: order.reason, ...report },
      });
    });
    await forgetStatistics(client, [...new Set([...counts.keys(), ...OTHERS_WITH_CONTENT])]);
    return report;
  });
}

async function deleteProperty(
  client: pg.ClientBase,
  property: DeletedProperty,
  counts: RowCounts,
  isDryRun: boolean,
): Promise<number> {
  const positions: LanePositions = new Map();
  const before = await findRecordsOf(client, property, positions);
  const recordsOf = (parts: typeof before) => parts.reduce((sum, { indexes }) => sum + indexes.size, 0);
  if (isDryRun) {
    await deleteRows(client, property, counts, true);
    return recordsOf(before);
  }
  return withTransaction(client, async () => {
    await endLeases(client, [property.bucket]);
    const parts = [...before, ...(await findRecordsOf(client, property, positions))];
    const waiting = await countWaiting(client, parts);
    if (waiting > 0)
      throw new DeletionError(
        `${waiting} batches of ${property.clientCode}/${property.propertyCode} are not applied yet: take its grant away, let the service apply them, and try again.`,
      );
    await dropRecords(client, parts);
    await deleteRows(client, property, counts, false);
    await client.query({ ...markDeleted, values: [property.propertyId] });
    return recordsOf(parts);
  });
}
