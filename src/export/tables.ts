import type pg from "pg";
import { dayOfText } from "#contract/calendar.ts";
import { letterOf, type Resource, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { isoOfStored } from "../apply/state/look-up.ts";
import { VERSION_TABLES } from "../apply/state/record.ts";
import { isoOfMicroseconds, microsecondsOf } from "../ingest/log/part-name.ts";
import { readStatement, type Texts } from "../platform/db/statement.ts";
import { isNoLongerKept, loadRecords } from "../query/load-records.ts";
import { outcomeName } from "../query/outcome.ts";
import { addBlocks } from "./blocks.ts";
import { type Batch, type Column, type ColumnType, charactersOf, type Value } from "./columns.ts";
import { FACT_TABLES, FactRows, factTableColumns } from "./facts.ts";
import { addNights, type NightSource, readNightSource, readPropertyCodes } from "./nights.ts";

/** The range of one bucket to read. */
export interface Stretch {
  readonly bucket: number;
  /** Change numbers above the first and up to the second; undefined: everything. */
  readonly changes: readonly [behind: number, until: number] | undefined;
  /** The first request to include. */
  readonly firstRequest: string;
}

/** A row of a table's statement. */
type Row = readonly (string | number | null)[];

/** Adds rows to a batch; resolves when it may be flushed. */
type AddRows = (rows: readonly Row[], batch: Batch) => Promise<void> | void;

export interface Table {
  /** Among rows with the same key, the newest one applies. */
  readonly key: readonly string[];
  readonly columns: readonly Column[];
  /**
   * Of a table whose rows count only if they are of the pass with the newest row of their record in `records`: the resource of those
   * records. The last column of the key has theirs.
   */
  readonly resource?: Resource;
  /** Whether its rows are selected by change number rather than by receipt. */
  readonly isOfChanges: boolean;
  readonly statement: (stretch: Stretch) => { readonly text: string; readonly values: readonly unknown[] };
  /** `client` reads the range's snapshot; `pool` reads the log, which does not change. */
  readonly open: (client: pg.ClientBase, pool: pg.Pool, stretch: Stretch) => Promise<AddRows>;
}

/** `name type`; a question mark after the type means nullable. */
function columnsOf(...declared: readonly string[]): readonly Column[] {
  return declared.map((text) => {
    const [name = "", type = ""] = text.split(" ");
    return { name, type: type.replace("?", "") as ColumnType, isNullable: type.endsWith("?") };
  });
}

const RECORD_KEY = ["client_code", "property_code", "resource", "key"] as const;
const RECORD_COLUMNS = columnsOf(
  "client_code text",
  "property_code text",
  "resource text",
  "key text",
  "source_time timestamp",
  "content_hash text",
  "status text?",
  "from_date date",
  "to_date date",
);

/** Bytes of facts that a row of a page may have: a page has thousands of rows, and the facts of one may take tens of megabytes. */
const SHOWN_FACTS_MAX = 8_192;
const SHOWN_FACTS = `case when octet_length(facts.facts) <= ${SHOWN_FACTS_MAX} then facts.facts end`;

function statementsOf(name: string, texts: Texts) {
  const url = new URL(`./sql/read-exported-${name}.sql`, import.meta.url);
  const of = (current: string, shown = SHOWN_FACTS) =>
    readStatement(url, {
      ...texts,
      shown,
      current: readStatement(new URL(`./sql/parts/${current}.sql`, import.meta.url)).text,
    }).text;
  return {
    every: of("every-current"),
    changed: of("changed-current"),
    one: of("one-current", "facts.facts"),
  };
}

/** A statement for current records. */
function ofCurrent(name: string, texts: Texts = {}): Table["statement"] {
  const { every, changed } = statementsOf(name, texts);
  return ({ bucket, changes }) =>
    changes === undefined
      ? { text: every, values: [bucket] }
      : { text: changed, values: [bucket, ...changes] };
}

/** A statement for received data. */
function ofReceived(name: string): Table["statement"] {
  const { text } = readStatement(new URL(`./sql/read-exported-${name}.sql`, import.meta.url));
  return ({ bucket, firstRequest }) => ({ text, values: [bucket, firstRequest] });
}

const receivedAt = (requestId: string): string => isoOfMicroseconds(microsecondsOf(requestId));

/** The values of RECORD_COLUMNS. */
function recordValues([clientCode, propertyCode, letter, key, time, hash, status, from, to]: Row): Value[] {
  return [
    clientCode as string,
    propertyCode as string,
    resourceOf(letter as ResourceLetter),
    key as string,
    isoOfStored(time as string),
    hash as string,
    status as string | null,
    dayOfText(from as string),
    dayOfText(to as string),
  ];
}

function addRow(batch: Batch, values: readonly Value[]): void {
  for (const [at, value] of values.entries()) batch.values[at]?.push(value);
  batch.endRows(charactersOf(values));
}

/** Adds each row's values as computed by `of`. */
const plainRows = (of: (row: Row) => readonly Value[]): Table["open"] => {
  const add: AddRows = (rows, batch) => {
    for (const row of rows) addRow(batch, of(row));
  };
  return () => Promise.resolve(add);
};

/** Adds versions, each with its record verbatim. */
const openVersions: Table["open"] = (_client, pool, { bucket }) => {
  const add: AddRows = async (rows, batch) => {
    const pointers = rows.map((row) => ({ bucket, requestId: row[10] as string, index: row[11] as number }));
    let at = 0;
    for await (const record of loadRecords(pool, pointers)) {
      const row = rows[at] as Row;
      const { requestId, index } = pointers[at] as (typeof pointers)[number];
      at += 1;
      const outcome = outcomeName(row[9] as string);
      const content = isNoLongerKept(record) ? null : record.toString("utf8");
      const own = [outcome, requestId, index, receivedAt(requestId), content];
      addRow(batch, [...recordValues(row), ...own]);
    }
  };
  return Promise.resolve(add);
};

/**
 * Adds rows of properties and keys that are made of facts. A row that has none (`isWhole`) is read alone, in the page's snapshot, since
 * its facts may be too long for a page.
 */
function rowsOfFacts(
  name: string,
  texts: Texts,
  add: (row: Row, batch: Batch) => void,
  isWhole = (row: Row) => row.at(-1) !== null,
): (client: pg.ClientBase, bucket: number) => AddRows {
  const { one } = statementsOf(name, texts);
  return (client, bucket) => async (rows, batch) => {
    for (const row of rows) {
      if (isWhole(row)) {
        add(row, batch);
        continue;
      }
      const [propertyId, key] = row;
      const whole = await client.query({ text: one, values: [bucket, propertyId, key], rowMode: "array" });
      add((whole.rows as Row[])[0] ?? row, batch);
    }
  };
}

const NIGHTS_AT = 3;

const openNights: Table["open"] = async (client, _pool, { bucket }) => {
  const source: NightSource = await readNightSource(client, bucket);
  return rowsOfFacts(
    "nights",
    {},
    (row, batch) => addNights(source, row as Parameters<typeof addNights>[1], batch),
    (row) => row.slice(NIGHTS_AT).some((either) => either !== null),
  )(client, bucket);
};

const openBlocks: Table["open"] = async (client, _pool, { bucket }) => {
  const properties = await readPropertyCodes(client, bucket);
  return rowsOfFacts("blocks", {}, (row, batch) =>
    addBlocks(properties, row as Parameters<typeof addBlocks>[1], batch),
  )(client, bucket);
};

type FactTableName = keyof typeof FACT_TABLES;

function factTable(name: FactTableName): Table {
  const table = FACT_TABLES[name];
  const letter = letterOf(table.resource);
  const facts = new FactRows(table);
  const texts = { of: VERSION_TABLES[letter].replace(/_version$/, ""), letter };
  return {
    key: ["client_code", "property_code", "key"],
    columns: factTableColumns(table),
    resource: table.resource,
    isOfChanges: true,
    statement: ofCurrent("facts", texts),
    open: async (client, _pool, { bucket }) => {
      const properties = await readPropertyCodes(client, bucket);
      return rowsOfFacts("facts", texts, (row, batch) =>
        facts.add(properties, row as Parameters<typeof facts.add>[1], batch),
      )(client, bucket);
    },
  };
}

const FACT_TABLE_NAMES = Object.keys(FACT_TABLES) as readonly FactTableName[];

const COUNTED_TABLES = {
  records: {
    key: RECORD_KEY,
    columns: RECORD_COLUMNS,
    isOfChanges: true,
    statement: ofCurrent("records"),
    open: plainRows(recordValues),
  },
  nights: {
    key: ["client_code", "property_code", "reservation_id"],
    resource: "reservations",
    columns: columnsOf(
      "client_code text",
      "property_code text",
      "reservation_id text",
      "stay_date date",
      "status text?",
      "room_type_code text?",
      "booked_room_type_code text?",
      "market_segment_code text?",
      "group_block_code text?",
      "rate_code text?",
      "channel text?",
      "currency_code text?",
      "cause text?",
      "share_id text?",
      "rooms integer",
      "adults integer",
      "children integer",
      "room_revenue amount?",
      "gross_room_revenue amount?",
      "long_room_revenue text?",
      "long_gross_room_revenue text?",
    ),
    isOfChanges: true,
    statement: ofCurrent("nights"),
    open: openNights,
  },
  blocks: {
    key: ["client_code", "property_code", "group_code"],
    resource: "groups",
    columns: columnsOf(
      "client_code text",
      "property_code text",
      "group_code text",
      "stay_date date",
      "status text?",
      "master_group_code text?",
      "room_type_code text?",
      "market_segment_code text?",
      "rate_code text?",
      "currency_code text?",
      "blocks integer?",
      "picked_up integer?",
      "original_blocks integer?",
    ),
    isOfChanges: true,
    statement: ofCurrent("blocks"),
    open: openBlocks,
  },
  versions: {
    key: [...RECORD_KEY, "source_time", "content_hash"],
    columns: [
      ...RECORD_COLUMNS,
      ...columnsOf(
        "outcome text",
        "request_id text",
        "record_index integer",
        "received_at timestamp",
        "content text?",
      ),
    ],
    isOfChanges: false,
    statement: ofReceived("versions"),
    open: openVersions,
  },
  outcomes: {
    key: ["request_id", "part"],
    columns: columnsOf(
      "request_id text",
      "part integer",
      "client_id text",
      "resource text",
      "received_at timestamp",
      "applied_at timestamp",
      "batch_records integer",
      "records integer",
      "applied integer",
      "unchanged integer",
      "stale integer",
      "duplicate integer",
      "quarantined integer",
      "discarded integer",
    ),
    isOfChanges: false,
    statement: ofReceived("outcomes"),
    open: plainRows(([requestId, part, clientId, letter, appliedAt, ...counts]) => [
      requestId as string,
      part as number,
      clientId as string,
      resourceOf(letter as ResourceLetter),
      receivedAt(requestId as string),
      isoOfStored(appliedAt as string),
      ...counts,
    ]),
  },
} as const satisfies Readonly<Record<string, Table>>;

export type TableName = keyof typeof COUNTED_TABLES | FactTableName;

export const TABLES: Readonly<Record<TableName, Table>> = {
  ...COUNTED_TABLES,
  ...(Object.fromEntries(FACT_TABLE_NAMES.map((name) => [name, factTable(name)])) as Record<
    FactTableName,
    Table
  >),
};
export const TABLE_NAMES = Object.keys(TABLES) as readonly TableName[];
/** Facts are exported only when they are asked for: they take most of the space. */
export const DEFAULT_TABLES = Object.keys(COUNTED_TABLES) as readonly TableName[];
