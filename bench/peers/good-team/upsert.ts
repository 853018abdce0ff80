import type { ResourceModel } from "./resources.ts";

function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The table of a resource: one row a record, the newest. */
export function tableStatement({ table, fields, key, sourceTime }: ResourceModel): string {
  const required = ["clientCode", "propertyCode", key, sourceTime];
  const columns = Object.entries(fields).map(
    ([field, [, type]]) => `${columnOf(field)} ${type}${required.includes(field) ? " not null" : ""}`,
  );
  return `create table if not exists ${table} (${columns.join(", ")},
    primary key (client_code, property_code, ${columnOf(key)}))`;
}

/** One statement a batch; $1 is the batch as JSON, each key in it once. */
export function upsertStatement({ table, fields, key, sourceTime }: ResourceModel): string {
  const names = Object.keys(fields);
  const columns = names.map(columnOf).join(", ");
  const keyColumns = ["clientCode", "propertyCode", key].map(columnOf);
  const time = columnOf(sourceTime);
  const updates = names
    .map(columnOf)
    .filter((column) => !keyColumns.includes(column))
    .map((column) => `${column} = excluded.${column}`);
  return `insert into ${table} as current (${columns})
    select ${names.map((name) => `"${name}"`).join(", ")}
    from jsonb_to_recordset($1) as batch (${Object.entries(fields)
      .map(([name, [, type]]) => `"${name}" ${type}`)
      .join(", ")})
    on conflict (${keyColumns.join(", ")}) do update set ${updates.join(", ")}
    where excluded.${time} > current.${time}`;
}
