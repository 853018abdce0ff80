import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { readRecord } from "#contract/read-record.ts";
import { identityOnly } from "#contract/redact-record.ts";
import type { Resource } from "#contract/resource.ts";
import { RESOURCE_LETTERS, VERSION_TABLES } from "../../apply/state/record.ts";
import { recordAudit } from "../../identity/audit.ts";
import { STALE_AFTER_MS } from "../../identity/directory.ts";
import { lowestIdAt } from "../../ingest/log/part-name.ts";
import { withExclusiveWork } from "../../platform/db/coordination.ts";
import { namedStatement } from "../../platform/db/statement.ts";
import { withTransaction } from "../../platform/db/transaction.ts";
import { OperatorError } from "../../platform/errors/operator-error.ts";
import { countText } from "../../platform/runtime/amounts.ts";
import {
  clearStatistics,
  type LogSearch,
  type PartKey,
  rewriteFound,
  rewritePart,
  rewriteRejected,
  type ScannedRecord,
  searchLog,
} from "../../retention/rewrite-log.ts";
import { dropLeftovers } from "../drop-leftovers.ts";
import { rewriteMessages } from "../erasure/redact-elsewhere.ts";

/**
 * Every table with rows by property id: of the live state, of former states kept by replays, and others. New tables are found by their
 * column.
 */
const findTables = namedStatement(
  "find-tables-of-properties",
  `select quote_ident(nspname) || '.' || quote_ident(relname) as name
  from pg_class
  join pg_namespace as schema on schema.oid = relnamespace
  join pg_attribute as part on part.attrelid = pg_class.oid and part.attname = 'property_id' and not part.attisdropped
  where relkind in ('r', 'p') and not relispartition and relname <> 'property'
    and (nspname in ('bellhop', 'bellhop_state') or nspname ~ '^bellhop_replay_[a-z0-9]+_former$')
  order by 1`,
);

/** The property to delete. */
interface DeletedProperty {
  readonly propertyId: number;
  readonly bucket: number;
  readonly clientCode: string;
  readonly propertyCode: string;
}

type RowCounts = Map<string, number>;

interface Target {
  readonly table: string;
  readonly where: string;
  readonly values: readonly unknown[];
}

const OF_BACKFILL =
  "(select backfill_id from bellhop.backfill where client_code = $1 and property_code = $2)";

const OF_ALERTS =
  "(select unnest(array[began_message, ended_message]) from bellhop.alert where bucket = $1 and property_id = $2)";

/** Idempotency keys expire after 24 hours and are deleted after 25. */
const KEYS_KEPT_MS = 25 * 3_600_000;
const findRequestsOfVersions = namedStatement(
  "find-requests-of-versions",
  Object.values(VERSION_TABLES)
    .map(
      (table) =>
        `select request_id::text from bellhop_state.${table} where bucket = $1 and property_id = $2 and request_id >= $3`,
    )
    .join(" union "),
);

/** The property's requests that may have an idempotency key, including those that retention has deleted from the log. */
async function requestsWithKeys(
  client: pg.ClientBase,
  { bucket, propertyId }: DeletedProperty,
  parts: readonly PartOfProperty[],
): Promise<string[]> {
  const clock = await client.query<{ now_ms: number }>(
    "select floor(extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms",
  );
  // Keys have no index by request, so the list is kept short.
  const since = lowestIdAt((clock.rows[0]?.now_ms ?? Date.now()) - KEYS_KEPT_MS);
  const ofLog = parts.map(({ part }) => part.requestId).filter((requestId) => requestId >= since);
  const values = [bucket, propertyId, since];
  const { rows } = await client.query<{ request_id: string }>({ ...findRequestsOfVersions, values });
  return [...new Set([...ofLog, ...rows.map((row) => row.request_id)])];
}

/** Tables with rows to delete in addition to the records of these parts. */
async function targetsOf(
  client: pg.ClientBase,
  of: DeletedProperty,
  parts: readonly PartOfProperty[],
): Promise<Target[]> {
  const { bucket, propertyId, clientCode, propertyCode } = of;
  const tables = await client.query<{ name: string }>(findTables);
  const byNumber = { where: "bucket = $1 and property_id = $2", values: [bucket, propertyId] };
  const byCodes = { where: "client_code = $1 and property_code = $2", values: [clientCode, propertyCode] };
  return [
    // Before the alerts, which say what the messages are about.
    { table: "bellhop.subscription_message", where: `message_id in ${OF_ALERTS}`, values: byNumber.values },
    { table: "bellhop.subscription", ...byCodes },
    ...tables.rows.map(({ name }) => ({ table: name, ...byNumber })),
    { table: "bellhop.property_setting", ...byCodes },
    {
      table: "bellhop.backfill_signature",
      where: `backfill_id in ${OF_BACKFILL}`,
      values: byCodes.values,
    },
    { table: "bellhop.backfill", ...byCodes },
    // Otherwise the same batch sent again would count as stored. A key may lie in any bucket of its batch.
    {
      table: "bellhop.idempotency_key",
      where: "request_id = any ($1::uuid[])",
      values: [await requestsWithKeys(client, of, parts)],
    },
  ];
}

/** Deletes, or only counts, the rows of a property. */
async function deleteRows(
  client: pg.ClientBase,
  of: DeletedProperty,
  parts: readonly PartOfProperty[],
  counts: RowCounts,
  isDryRun: boolean,
): Promise<void> {
  for (const { table, where, values } of await targetsOf(client, of, parts)) {
    const { rows, rowCount } = await client.query<{ count: string }>(
      isDryRun
        ? `select count(*)::text as count from ${table} where ${where}`
        : `delete from ${table} where ${where}`,
      [...values],
    );
    const found = isDryRun ? Number(rows[0]?.count ?? 0) : (rowCount ?? 0);
    if (found > 0) counts.set(table, (counts.get(table) ?? 0) + found);
  }
}

const isApplied = namedStatement(
  "is-applied",
  `select exists (
    select from bellhop_state.apply_cursor as cursor
    where cursor.bucket = $1 and cursor.log_writer_id = $2 and cursor.request_id >= $3
  ) as applied`,
);
/** Deletes the warnings and reasons of deleted records. Keeps their outcome letters, so the counts of their batch do not change. */
const dropDetails = namedStatement(
  "drop-details",
  `update bellhop.request_outcome
  set details = (
    select json_object_agg(key, value) from json_each(details) where key <> all ($3::text[])
  )
  where bucket = $1 and request_id = $2 and details is not null`,
);

/** A property's records in one part of the log. */
interface PartOfProperty {
  readonly part: PartKey;
  readonly indexes: ReadonlySet<number>;
}

function isOf(property: DeletedProperty, resource: Resource, { bytes, isRejected }: ScannedRecord): boolean {
  const named = isRejected ? identityOnly(resource, bytes) : readRecord(resource, bytes);
  return named.clientCode === property.clientCode && named.propertyCode === property.propertyCode;
}

/** A search for a property's records in the log of its bucket. */
function searchOf(property: DeletedProperty): LogSearch<PartOfProperty> {
  return {
    bucket: property.bucket,
    resources: RESOURCE_LETTERS,
    find: ({ key: part, resource, records }) => {
      const found = records.filter((record) => isOf(property, resource, record));
      return found.length === 0 ? [] : [{ part, indexes: new Set(found.map(({ index }) => index)) }];
    },
  };
}

const countRecords = (parts: readonly PartOfProperty[]) =>
  parts.reduce((sum, { indexes }) => sum + indexes.size, 0);

/** The number of parts that have not been applied yet. */
async function countWaiting(client: pg.ClientBase, parts: readonly PartOfProperty[]): Promise<number> {
  let waiting = 0;
  for (const { part } of parts) {
    const values = [part.bucket, part.logWriterId, part.requestId];
    const { rows } = await client.query<{ applied: boolean }>({ ...isApplied, values });
    if (rows[0]?.applied !== true) waiting += 1;
  }
  return waiting;
}

/** Drops the records from their parts; their indexes, and other properties' records, are unchanged. */
async function dropRecords(client: pg.ClientBase, parts: readonly PartOfProperty[]): Promise<void> {
  for (const { part, indexes } of parts) {
    await rewritePart(client, part, ({ index }) => (indexes.has(index) ? "drop" : "keep"));
    await client.query({ ...dropDetails, values: [part.bucket, part.requestId, [...indexes].map(String)] });
  }
}

const findProperties = namedStatement(
  "find-properties-of-client",
  `select property_id as "propertyId", bucket, client_code as "clientCode", property_code as "propertyCode"
  from bellhop.property
  where client_code = $1 and ($2::text is null or property_code = $2)
  order by property_code`,
);
const markDeleted = namedStatement(
  "mark-deleted",
  `update bellhop.property set deleted_at = clock_timestamp() where property_id = $1`,
);
/** Removes the client code's grants. Nodes learn of it as of any change of clients. */
const revokeGrants = namedStatement(
  "take-grants",
  `with raised as (
    update bellhop.auth_epoch set epoch = epoch + 1 returning epoch
  ), taken as (
    delete from bellhop.client_grant where client_code = $1 returning client_id
  )
  update bellhop.client set changed_epoch = raised.epoch
  from raised where client_id in (select client_id from taken)`,
);
/** Within half of this every node refuses the client code; in the other half, batches authorised before are written and applied. */
const GRANTS_GONE_MS = 2 * STALE_AFTER_MS;
/** Keeps the settings version, which earlier answers contain. */
const deleteSettings = namedStatement(
  "delete-client-settings",
  `with mappings as (
    delete from bellhop.status_mapping where client_code = $1
  )
  delete from bellhop.property_setting where client_code = $1`,
);

/** Other tables with deleted content, for their statistics. */
const OTHERS_WITH_CONTENT = [
  "bellhop.accept_log",
  "bellhop.request_outcome",
  "bellhop.webhook_message",
  "bellhop.property_setting",
  "bellhop.status_mapping",
  "bellhop.client_grant",
];

const GONE = Buffer.from("null");

export interface DeletionOrder {
  readonly clientCode: string;
  /** Null: every property of the client code, with its settings, status mappings and grants. */
  readonly propertyCode: string | null;
  /** Only counts. */
  readonly isDryRun: boolean;
  readonly reason: string;
  /** The actor for the audit. */
  readonly who: string;
}

export interface DeletionReport {
  readonly properties: readonly { readonly clientCode: string; readonly propertyCode: string }[];
  /** Copies of records in the log. */
  readonly logRecords: number;
  readonly rows: Readonly<Record<string, number>>;
}

/**
 * Deletes all data of a property or a whole client code; a dry run only counts it. Each property is deleted in one transaction under its
 * bucket's lease; a client code once no node accepts anything for it. Throws OperatorError if it is unknown or still being applied, and
 * WorkUnderWay.
 */
export async function deleteData(client: pg.ClientBase, order: DeletionOrder): Promise<DeletionReport> {
  return withExclusiveWork(client, async () => {
    const { clientCode, propertyCode, isDryRun } = order;
    const values = [clientCode, propertyCode];
    let { rows: properties } = await client.query<DeletedProperty>({ ...findProperties, values });
    if (properties.length === 0)
      throw new OperatorError(
        `No batch has named ${propertyCode === null ? clientCode : `${clientCode}/${propertyCode}`}.`,
      );
    // Audit first: an interrupted deletion has removed data, too.
    if (!isDryRun) {
      const detail = { clientCode, propertyCode, reason: order.reason, properties: properties.length };
      await recordAudit(client, { who: order.who, what: "begin-deletion", detail });
    }
    if (!isDryRun) await dropLeftovers(client);
    if (!isDryRun && propertyCode === null) {
      await client.query({ ...revokeGrants, values: [clientCode] });
      await delay(GRANTS_GONE_MS);
      ({ rows: properties } = await client.query<DeletedProperty>({ ...findProperties, values }));
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
    // A rejected record lies in the first part of its batch, in any bucket.
    const isGone = (of: { readonly clientCode?: string; readonly propertyCode?: string }) =>
      of.clientCode === clientCode && (propertyCode ?? of.propertyCode) === of.propertyCode;
    await rewriteRejected(client, (resource, bytes) =>
      isGone(identityOnly(resource, bytes)) ? "drop" : "keep",
    );
    // Readers see a change without a record, as for one that is too long for a message.
    await rewriteMessages(client, (of, bytes) => (isGone(of) ? GONE : bytes));
    await withTransaction(client, async () => {
      if (propertyCode === null) await client.query({ ...deleteSettings, values: [clientCode] });
      const what = propertyCode === null ? "delete-client-code" : "delete-property";
      await recordAudit(client, {
        who: order.who,
        what,
        detail: { clientCode, propertyCode, reason: order.reason, ...report },
      });
    });
    await clearStatistics(client, [...new Set([...counts.keys(), ...OTHERS_WITH_CONTENT])]);
    return report;
  });
}

async function deleteProperty(
  client: pg.ClientBase,
  property: DeletedProperty,
  counts: RowCounts,
  isDryRun: boolean,
): Promise<number> {
  if (isDryRun) {
    const parts = await searchLog(client, searchOf(property));
    await deleteRows(client, property, parts, counts, true);
    return countRecords(parts);
  }
  return rewriteFound(client, searchOf(property), async (parts) => {
    const waiting = await countWaiting(client, parts);
    if (waiting > 0)
      throw new OperatorError(
        `${property.clientCode}/${property.propertyCode} has ${countText(waiting, "batch that is", "batches that are")} not applied yet: remove its grants, let the service apply them, and run this again.`,
      );
    await dropRecords(client, parts);
    await deleteRows(client, property, parts, counts, false);
    await client.query({ ...markDeleted, values: [property.propertyId] });
    return countRecords(parts);
  });
}
