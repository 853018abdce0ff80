import type { ResourceModel } from "./resources.ts";

function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function keyOf({ key }: ResourceModel): string[] {
  return ["clientCode", "propertyCode", key];
}

/** The table of a resource, with one row per record: the newest version. */
export function tableStatement(model: ResourceModel): string {
  const { table, fields, sourceTime } = model;
  const required = [...keyOf(model), sourceTime];
  const columns = Object.entries(fields).map(
    ([field, [, type]]) => `${columnOf(field)} ${type}${required.includes(field) ? " not null" : ""}`,
  );
  return `create table if not exists ${table} (${columns.join(", ")},
    primary key (${keyOf(model).map(columnOf).join(", ")}))`;
}

/** Upserts a batch, passed as a JSON parameter with unique keys. */
export function upsertStatement(model: ResourceModel): string {
  const { table, fields, sourceTime } = model;
  const columns = Object.keys(fields).map(columnOf);
  const key = keyOf(model).map(columnOf);
  const time = columnOf(sourceTime);
  const updates = columns
    .filter((column) => !key.includes(column))
    .map((column) => `${column} = excluded.${column}`);
  const names = Object.keys(fields).map((name) => `"${name}"`);
  const typed = Object.entries(fields).map(([name, [, type]]) => `"${name}" ${type}`);
  return `insert into ${table} as current (${columns.join(", ")})
    select ${names.join(", ")} from jsonb_to_recordset($1) as batch (${typed.join(", ")})
    on conflict (${key.join(", ")}) do update set ${updates.join(", ")} where excluded.${time} > current.${time}`;
}
