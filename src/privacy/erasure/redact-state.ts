import type pg from "pg";
import { ERASED } from "#contract/redact-record.ts";
import type { ResourceLetter } from "#contract/resource.ts";
import { STATE_SCHEMA } from "../../apply/state/state-schema.ts";
import { VERSION_TABLES } from "../../apply/state/version-tables.ts";
import { namedStatement } from "../../platform/db/statement.ts";

/** States that swaps of a replay have put aside, each a schema of its own (src/apply/replay.ts). */
const findFormer = namedStatement(
  "find-former-states",
  `select quote_ident(nspname) as name from pg_namespace
  where nspname ~ '^bellhop_replay_[a-z0-9]+_former$' and to_regclass(quote_ident(nspname) || '.current_record') is not null
  order by nspname`,
);

/** Facts that are made of what is personal (PERSONAL_FIELDS), by the resource that has any. */
const PERSONAL_FACT: Readonly<Partial<Record<ResourceLetter, string>>> = {
  r: "confirmation_number",
  g: "name",
};

/** What a content of one record is known by, before and after. */
export interface RenamedContent {
  readonly propertyId: number;
  readonly key: string;
  readonly before: string;
  readonly after: string;
}

/** The live state, and those that swaps of a replay have put aside. */
export async function stateSchemas(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(findFormer);
  return [STATE_SCHEMA, ...rows.map(({ name }) => name)];
}

const RENAMED = `unnest($2::integer[], $3::text[], $4::text[], $5::text[]) as renamed (property_id, key, before, after)`;
const SAME_CONTENT = `of.bucket = $1 and of.property_id = renamed.property_id and of.key = renamed.key
  and of.content_hash = decode(renamed.before, 'hex')`;

/** Facts without what is personal; an empty or absent one stays what it is. */
function redactedFacts(resource: ResourceLetter): string {
  const fact = PERSONAL_FACT[resource];
  if (fact === undefined) return "of.facts";
  const type = VERSION_TABLES[resource].factsType;
  return `case when (of.facts::${type}).${fact} <> ''
    then jsonb_populate_record(of.facts::${type}, '${JSON.stringify({ [fact]: ERASED })}')::text else of.facts end`;
}

/**
 * Reads the facts first, under lock, and then writes them: on Citus an update takes nothing from columns by functions that are
 * not immutable, as casts of facts are not.
 */
async function redactVersions(
  client: pg.ClientBase,
  table: string,
  resource: ResourceLetter,
  values: readonly unknown[],
): Promise<number> {
  const { rows } = await client.query<{
    property_id: number;
    key: string;
    source_time: string;
    before: string;
    after: string;
    facts: string;
  }>(
    `select of.property_id, of.key, of.source_time::text as source_time, renamed.before, renamed.after,
      ${redactedFacts(resource)} as facts
    from ${table} as of join ${RENAMED} on ${SAME_CONTENT} for update of of`,
    [...values],
  );
  if (rows.length === 0) return 0;
  const { rowCount } = await client.query(
    `update ${table} as of set content_hash = decode(renamed.after, 'hex'), facts = renamed.facts
    from unnest($2::integer[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::text[])
      as renamed (property_id, key, before, after, source_time, facts)
    where ${SAME_CONTENT} and of.source_time = renamed.source_time`,
    [
      values[0],
      rows.map((row) => row.property_id),
      rows.map((row) => row.key),
      rows.map((row) => row.before),
      rows.map((row) => row.after),
      rows.map((row) => row.source_time),
      rows.map((row) => row.facts),
    ],
  );
  return rowCount ?? 0;
}

/**
 * Has the versions and current records of one bucket know their contents by other hashes, and takes out of their facts what is
 * personal. Answers how many versions of the live state there were.
 */
export async function redactState(
  client: pg.ClientBase,
  bucket: number,
  resource: ResourceLetter,
  contents: readonly RenamedContent[],
): Promise<number> {
  if (contents.length === 0) return 0;
  const values = [
    bucket,
    contents.map(({ propertyId }) => propertyId),
    contents.map(({ key }) => key),
    contents.map(({ before }) => before),
    contents.map(({ after }) => after),
  ];
  let versions = 0;
  for (const schema of await stateSchemas(client)) {
    const count = await redactVersions(
      client,
      `${schema}.${VERSION_TABLES[resource].table}`,
      resource,
      values,
    );
    if (schema === STATE_SCHEMA) versions = count;
    // What a current row keeps of its nights begins with digits of the hash: they are read from the facts again.
    for (const [table, further] of [
      ["current_record", ", compact_nights = null"],
      ["released_copy", ""],
    ])
      await client.query(
        `update ${schema}.${table} as of set content_hash = decode(renamed.after, 'hex')${further}
        from ${RENAMED} where ${SAME_CONTENT} and of.resource = '${resource}'`,
        values,
      );
  }
  return versions;
}
