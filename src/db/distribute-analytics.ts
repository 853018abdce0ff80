import type pg from "pg";

const FACTS = ["reservation", "inventory", "group"] as const;

/**
 * The views that read facts cast the text in which they are stored. Citus sends a subquery without a table to workers only
 * where it is immutable, as this cast is (dates and times in it are ISO 8601 with an offset) without PostgreSQL knowing it.
 */
const castOf = (resource: string) => `
  create or replace function bellhop.as_${resource}_facts(facts text) returns bellhop.${resource}_facts
    language sql immutable strict parallel safe as 'select facts::bellhop.${resource}_facts'`;

/**
 * SQL functions over distributed tables take no parameters in Citus; those of PL/pgSQL do, but nothing is pushed into them.
 * The clock goes to the workers as text, as they do not have its type.
 */
const READ_FUNCTIONS = `
  select format(
    'create or replace function %s(%s) returns %s language plpgsql stable parallel safe as %L',
    function.oid::regproc, pg_get_function_arguments(function.oid), pg_get_function_result(function.oid),
    format(E'declare clock text := $2; begin return query %s; end', function.prosrc)
  ) as statement
  from pg_proc as function join pg_language as language on language.oid = function.prolang
  where function.pronamespace = 'analytics'::regnamespace and function.proretset and language.lanname = 'sql'
  order by function.proname`;

const READ_VIEWS = `
  select relname as name, pg_get_viewdef(oid) as text from pg_class
  where relnamespace = 'analytics'::regnamespace and relkind = 'v' and relname like 'stored\\_%\\_version'`;

/** Has what analysts ask (docs/analytics.md) be understood by Citus; done again, it finds nothing to do. */
export async function adaptAnalytics(client: pg.ClientBase): Promise<void> {
  const views = await client.query<{ name: string; text: string }>(READ_VIEWS);
  for (const resource of FACTS) {
    const name = `stored_${resource}_version`;
    const text = views.rows.find((view) => view.name === name)?.text ?? "";
    const cast = `(${resource}_version.facts)::bellhop.${resource}_facts`;
    if (!text.includes(cast)) continue;
    await client.query(castOf(resource));
    const adapted = text.replace(cast, `bellhop.as_${resource}_facts(${resource}_version.facts)`);
    await client.query(`create or replace view analytics.${name} as ${adapted}`);
  }
  // What the functions call on the workers.
  await client.query(
    `select create_distributed_function(oid::regprocedure) from pg_proc
    where pronamespace = 'analytics'::regnamespace and not proretset`,
  );
  const { rows } = await client.query<{ statement: string }>(READ_FUNCTIONS);
  for (const { statement } of rows) await client.query(statement);
}
