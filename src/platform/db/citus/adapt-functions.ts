import type pg from "pg";

/**
 * SQL functions over distributed tables take no parameters in Citus; those of PL/pgSQL do, but nothing is pushed into them. So
 * for one property they ask its bucket alone, by the conditions that stand in their text as comments.
 * Those that count the ledger, with a range of dates, ask one property after another: their joins are of one bucket.
 * The clock goes to the workers as text, as they do not have its type.
 */
const READ_FUNCTIONS = `
  select format(
    'create or replace function %s(%s) returns %s language plpgsql stable parallel safe as %L',
    function.oid::regproc, pg_get_function_arguments(function.oid), pg_get_function_result(function.oid),
    format(
      case when not 'first_date' = any (function.proargnames) then $body$
      declare
        clock text := $2;
        home smallint := (
          select property.bucket from analytics.stored_property as property
          where property.client_code = of_client_code and property.property_code = of_property_code
        );
      begin
        if home is null then return query %1$s;
        else return query %2$s;
        end if;
      end$body$ else $body$
      #variable_conflict use_column
      declare
        clock text := $2;
        home smallint;
      begin
        for of_client_code, of_property_code, home in
          select property.client_code, property.property_code, property.bucket from analytics.stored_property as property
          where property.client_code = coalesce($3, property.client_code) and property.property_code = coalesce($4, property.property_code)
        loop
          return query %2$s;
        end loop;
      end$body$ end,
      function.prosrc, regexp_replace(function.prosrc, '/\\* (and \\w+\\.bucket = home) \\*/', '\\1', 'g')
    )
  ) as statement
  from pg_proc as function join pg_language as language on language.oid = function.prolang
  where function.pronamespace = 'analytics'::regnamespace and function.proretset and language.lanname = 'sql'
  order by function.proname`;

/** Creates the functions on the workers, and adapts those for analysts (docs/analytics.md) to Citus. Idempotent. */
export async function adaptFunctions(client: pg.ClientBase): Promise<void> {
  // What views and functions call there, and triggers of shards.
  await client.query(
    `select create_distributed_function(oid::regprocedure) from pg_proc
    where pronamespace = 'analytics'::regnamespace and not proretset or oid = 'bellhop.note_late_version()'::regprocedure`,
  );
  const { rows } = await client.query<{ statement: string }>(READ_FUNCTIONS);
  for (const { statement } of rows) await client.query(statement);
}
