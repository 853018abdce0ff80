import { createHash } from "node:crypto";
import type pg from "pg";
import { letterOf, RESOURCES } from "#contract/resource.ts";
import { OperatorError } from "../../errors/operator-error.ts";
import { createAsOfFunctionOnCitus, distributeFunctions } from "../citus/as-of-functions.ts";
import { isDistributed } from "../distribution.ts";
import type { Queryable } from "../transaction.ts";
import { type AndHome, type AsOfFunction, createAsOfFunction, literal } from "./as-of-functions.ts";
import { COUNTED_RELATIONS, type CountedRelation } from "./counted-relations.ts";
import { RELATIONS, type Relation } from "./relations.ts";
import { type AnalyticsView, STORED_NAMES, storedVersions, type ViewColumn } from "./stored-versions.ts";

/** Current records: the version that counts, and the version with its facts. */
const currentOf = (resource: Relation["resource"], versions: string) => ({
  record: `analytics.stored_property as property
      join analytics.stored_current as record
        on record.bucket = property.bucket and record.property_id = property.property_id
        and record.resource = '${letterOf(resource)}'`,
  facts: factsOf(versions),
});

/**
 * The same as of an instant. Both start at the property, so a filter on the two codes reads that property's rows only. A filter does not reach
 * into a function of Citus, its arguments do.
 */
const asOf = (resource: Relation["resource"], versions: string, andHome: AndHome) => ({
  record: `analytics.stored_property as property
      join analytics.stored_current as known
        on known.bucket = property.bucket and known.property_id = property.property_id
        and known.resource = '${letterOf(resource)}' and (of_client_code is null or property.client_code = of_client_code)
        and (of_property_code is null or property.property_code = of_property_code) ${andHome("known")}
      cross join lateral (
        select version.*
        from ${versions} as version
        where version.bucket = known.bucket and version.property_id = known.property_id and version.key = known.key
          ${andHome("version")}
          and case clock
            when 'source' then version.source_time <= instant
            else version.request_id < analytics.first_request_id_after(instant)
          end
        order by version.source_time desc, version.request_id desc, version.record_index desc
        limit 1
      ) as record`,
  facts: `${factsOf(versions)} ${andHome("facts")}`,
});

const factsOf = (versions: string) => `join ${versions} as facts
        on facts.bucket = record.bucket and facts.property_id = record.property_id and facts.key = record.key
        and facts.source_time = record.facts_source_time and facts.content_hash = record.content_hash`;

const CODES: readonly ViewColumn[] = [
  { name: "client_code", sql: "property.client_code" },
  { name: "property_code", sql: "property.property_code" },
];
const TIMES: readonly ViewColumn[] = [
  { name: "source_time", sql: "record.source_time" },
  { name: "received_at", sql: "analytics.received_at_of(record.request_id)" },
];

/** A relation as a view (of current state) and as what its function selects. */
function viewsOf({ name, resource, columns, from }: Relation): {
  readonly view: AnalyticsView;
  readonly function: (andHome: AndHome) => AnalyticsView;
} {
  const versions = `analytics.stored_${STORED_NAMES[resource]}_version`;
  const over = ({ record, facts }: ReturnType<typeof currentOf>): AnalyticsView => ({
    name,
    columns: [...CODES, ...columns, ...TIMES],
    from: `from ${record}\n      ${facts}\n      ${from}`,
  });
  return {
    view: over(currentOf(resource, versions)),
    function: (andHome) => over(asOf(resource, versions, andHome)),
  };
}

type Existing = ReadonlyMap<string, readonly string[]>;
const NONE: Existing = new Map();

/** The first column of a view that its declaration does not have. */
function findUnknown(
  { name, columns }: Pick<CountedRelation, "name" | "columns"> | AnalyticsView,
  existing: Existing,
): string | undefined {
  const declared = new Set(columns.map((column) => column.name));
  const column = existing.get(name)?.find((each) => !declared.has(each));
  return column === undefined ? undefined : `analytics.${name} has the column ${column}`;
}

/** The select of a view; columns that it has already come first, in their order, as a view can only be given more at its end. */
function selectOf({ name, columns, from }: AnalyticsView, existing: readonly string[]): string {
  const byName = new Map(columns.map((column) => [column.name, column]));
  if (byName.size < columns.length) throw new Error(`analytics.${name} has two columns of one name.`);
  const kept = existing.flatMap((column) => byName.get(column) ?? []);
  const added = columns.filter((column) => !existing.includes(column.name));
  const selected = [...kept, ...added].map(({ name: as, sql }) =>
    sql === as || isColumn(sql, as) ? sql : `${sql} as ${as}`,
  );
  return `select\n        ${selected.join(",\n        ")}\n      ${from}`;
}

/** The columns of the schema's views, in their order. */
async function readColumns(client: pg.ClientBase): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await client.query<{ name: string; columns: string[] }>(
    `select relname as name, array_agg(attname::text order by attnum) as columns
    from pg_class join pg_attribute on attrelid = pg_class.oid
    where relnamespace = 'analytics'::regnamespace and relkind = 'v' and attnum > 0
    group by relname`,
  );
  return new Map(rows.map(({ name, columns }) => [name, columns]));
}

const STORED = RESOURCES.map(storedVersions);
const MADE_TWICE = RELATIONS.map((relation) => ({ ...viewsOf(relation), meaning: relation.meaning }));

type CreateFunction = (made: AsOfFunction) => string;

const commentOn = (name: string, meaning: string) =>
  `comment on view analytics.${name} is ${literal(`${meaning} Current state.`)}`;

/** The view asks the function for each property, so that a filter on the two codes reads that property only. */
function ofCounted(
  { name, meaning, columns, select }: CountedRelation,
  existing: readonly string[],
  create: CreateFunction,
): readonly string[] {
  if (existing.some((column, at) => column !== columns[at]?.name))
    throw new Error(`The columns of analytics.${name} have another order: a new one is added at the end.`);
  const view = `create or replace view analytics.${name} as`;
  const typed = columns.map((column) => `${column.name} ${column.type}`);
  // The columns of a function stay as they are, and those of a view may grow: the view lets go of its function meanwhile. It reads a
  // table of the coordinator still, or Citus would create it on the workers.
  const grow =
    existing.length === 0 || existing.length === columns.length
      ? []
      : [
          `${view} select ${columns.map((column) => `null::${column.type} as ${column.name}`).join(", ")}
            from analytics.stored_property where false`,
          `drop function analytics.${name}_as_of`,
        ];
  return [
    ...grow,
    create({ name: `${name}_as_of`, hasDates: true, returns: `table (${typed.join(", ")})`, select }),
    `${view}
      select counted.* from analytics.stored_property as property
      cross join lateral analytics.${name}_as_of('infinity', 'source', property.client_code, property.property_code) as counted`,
    commentOn(name, meaning),
  ];
}

function statements(existing: Existing, createFunction: CreateFunction): readonly string[] {
  const select = (view: AnalyticsView) => selectOf(view, existing.get(view.name) ?? []);
  const create = (view: AnalyticsView) => `create or replace view analytics.${view.name} as ${select(view)}`;
  return [
    ...STORED.map(create),
    ...MADE_TWICE.flatMap(({ view, function: of, meaning }) => [
      create(view),
      commentOn(view.name, meaning),
      createFunction({
        name: `${view.name}_as_of`,
        hasDates: false,
        returns: `setof analytics.${view.name}`,
        select: (andHome) => select(of(andHome)),
      }),
    ]),
    ...COUNTED_RELATIONS.flatMap((relation) =>
      ofCounted(relation, existing.get(relation.name) ?? [], createFunction),
    ),
  ];
}

/** Of the declarations: another text makes the relations anew. */
export const RELATIONS_HASH = createHash("sha256")
  .update(
    [createAsOfFunction, createAsOfFunctionOnCitus].flatMap((create) => statements(NONE, create)).join(";\n"),
  )
  .digest("hex")
  .slice(0, 16);

const MADE = /Made by version (\S+) \(([0-9a-f]+)\)\.$/;

/** What the relations were made by. Stands in the comment of their schema, so that it is wherever they are. */
export async function readMadeRelations(
  on: Queryable,
): Promise<{ readonly version: string; readonly hash: string } | undefined> {
  const { rows } = await on.query<{ comment: string | null }>(
    "select obj_description(to_regnamespace('analytics'), 'pg_namespace') as comment",
  );
  const [, version, hash] = MADE.exec(rows[0]?.comment ?? "") ?? [];
  return version === undefined || hash === undefined ? undefined : { version, hash };
}

/**
 * Makes the relations of the schema `analytics` from the declarations of this version, in the caller's transaction. Those that exist keep
 * their grants and the order of their columns; new columns follow. Returns false, with nothing made, if other declarations of this very
 * version have made more, as during development. `onCitus`: tables are distributed, whatever the session has known before. Throws
 * OperatorError if another version has columns that this one does not.
 */
export async function makeRelations(
  client: pg.ClientBase,
  version: string,
  onCitus?: "onCitus",
): Promise<boolean> {
  const create =
    onCitus !== undefined || (await isDistributed(client)) ? createAsOfFunctionOnCitus : createAsOfFunction;
  const existing = await readColumns(client);
  const views = [...STORED, ...MADE_TWICE.map(({ view }) => view), ...COUNTED_RELATIONS];
  const [unknown] = views.flatMap((view) => findUnknown(view, existing) ?? []);
  if (unknown !== undefined) {
    if ((await readMadeRelations(client))?.version === version) return false;
    throw new OperatorError(
      `The view ${unknown}, which this version of Bellhop does not have: columns of views are never removed or renamed.`,
    );
  }
  if (create === createAsOfFunctionOnCitus) await distributeFunctions(client);
  for (const statement of statements(existing, create)) await client.query(statement);
  await client.query(
    `comment on schema analytics is ${literal(`What analysts ask by SQL (docs/analytics.md). Made by version ${version} (${RELATIONS_HASH}).`)}`,
  );
  return true;
}

/** Whether an expression is a column of this name, such as `stay.rate_code`. */
function isColumn(sql: string, name: string): boolean {
  const relation = sql.slice(0, -name.length - 1);
  return sql === `${relation}.${name}` && /^\w+$/.test(relation);
}
