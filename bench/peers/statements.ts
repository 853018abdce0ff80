import type { ResourceModel } from "./resources.ts";

function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function keyOf({ key }: ResourceModel): string[] {
  return ["clientCode", "propertyCode", key];
}

/** The table of a resource: one row a record, the newest. */
export function tableStatement(model: ResourceModel): string {
  const { table, fields, sourceTime } = model;
  const required = [...keyOf(model), sourceTime];
  const columns = Object.entries(fields).map(
    ([field, [, type]]) => `${columnOf(field)} ${type}${required.includes(field) ? " not null" : ""}`,
  );
  return `create table if not exists ${table} (${columns.join(", ")},
    primary key (${keyOf(model).map(columnOf).join(", ")}))`;
}

function insertOf(model: ResourceModel, source: string): string {
  const { table, fields, sourceTime } = model;
  const columns = Object.keys(fields).map(columnOf);
  const key = keyOf(model).map(columnOf);
  const time = columnOf(sourceTime);
  const updates = columns
    .filter((column) => !key.includes(column))
    .map((column) => `${column} = excluded.${column}`);
  return `insert into ${table} as current (${columns.join(", ")}) ${source}
    on conflict (${key.join(", ")}) do update set ${updates.join(", ")} where excluded.${time} > current.${time}`;
}

/** One statement a record; its parameters are its fields in order. */
export function insertStatement(model: ResourceModel): string {
  const places = Object.keys(model.fields).map((_, at) => `$${at + 1}`);
  return insertOf(model, `values (${places.join(", ")})`);
}

/** One statement a batch, which stands as JSON where `batch` says, each key in it once. */
export function upsertStatement(model: ResourceModel, batch = "$1"): string {
  const fields = Object.entries(model.fields);
  const names = fields.map(([name]) => `"${name}"`);
  const typed = fields.map(([name, [, type]]) => `"${name}" ${type}`);
  return insertOf(
    model,
    `select ${names.join(", ")} from jsonb_to_recordset(${batch}) as batch (${typed.join(", ")})`,
  );
}
