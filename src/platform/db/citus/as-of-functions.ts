import type pg from "pg";
import { type AsOfFunction, declarationOf, literal } from "../analytics/as-of-functions.ts";

/*
 * SQL functions over distributed tables take no parameters in Citus; those of PL/pgSQL do, but nothing is pushed into them. So for one
 * property they ask its bucket alone. The clock goes to the workers as text, as they do not have its type.
 */

/** Of records: joins are within each bucket, so those of several properties are asked together. */
const ofRecords = (select: AsOfFunction["select"]) => `
declare
  clock text := $2;
  home smallint := (
    select property.bucket from analytics.stored_property as property
    where property.client_code = of_client_code and property.property_code = of_property_code
  );
begin
  if home is null then
    return query ${select(() => "")};
  else
    return query ${select(inHome)};
  end if;
end`;

/** Of the ledger: one property after another, as its parts are joined after they were read. */
const ofEntries = (select: AsOfFunction["select"]) => `
#variable_conflict use_column
declare
  clock text := $2;
  home smallint;
begin
  for of_client_code, of_property_code, home in
    select property.client_code, property.property_code, property.bucket from analytics.stored_property as property
    where property.client_code = coalesce($3, property.client_code) and property.property_code = coalesce($4, property.property_code)
  loop
    return query ${select(inHome)};
  end loop;
end`;

const inHome = (relation: string) => `and ${relation}.bucket = home`;

/** The function as Citus has it. */
export function createAsOfFunctionOnCitus(made: AsOfFunction): string {
  const body = (made.hasDates ? ofEntries : ofRecords)(made.select);
  return `${declarationOf(made)} language plpgsql stable parallel safe as ${literal(body)}`;
}

/** Creates on the workers what views and functions call there, and triggers of shards. Idempotent. */
export async function distributeFunctions(client: pg.ClientBase): Promise<void> {
  await client.query(
    `select create_distributed_function(oid::regprocedure) from pg_proc
    where pronamespace = 'analytics'::regnamespace and not proretset or oid = 'bellhop.note_late_version()'::regprocedure`,
  );
}
