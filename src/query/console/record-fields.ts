import type { Resource } from "#contract/resource.ts";
import type { FieldSchema } from "#contract/schema/field.ts";
import { RECORD_SCHEMAS } from "#contract/schema/record-schemas.ts";
import type { RecordField } from "./answers.ts";
import { comparableOf, isList, type Node, Written } from "./written-json.ts";

/** A reservation of a month has about 300. */
const FIELDS_MAX = 500;

/** Whether Bellhop reads the field: as a fact, or to know the record by it. */
const isRead = ({ notes }: FieldSchema) => notes?.fact !== undefined || notes?.role !== undefined;

function addFields(schema: FieldSchema, path: string, node: Node | undefined, fields: RecordField[]): void {
  if (fields.length >= FIELDS_MAX) return;
  if (isList(node) && schema.items !== undefined)
    for (const [at, item] of node.entries()) addFields(schema.items, `${path}[${at}]`, item, fields);
  else if (node instanceof Map)
    for (const [name, member] of Object.entries(schema.properties ?? {}))
      addFields(member, path === "" ? name : `${path}.${name}`, node.get(name), fields);
  else if (node instanceof Written && isRead(schema) && node.text !== "null")
    fields.push({ path, value: valueText(node), description: schema.description });
}

/** Numbers verbatim. */
const valueText = ({ text }: Written): string => (text.startsWith('"') ? (JSON.parse(text) as string) : text);

/** The fields of a record that Bellhop reads, in the order of the schema; none of a record that is too large to compare. */
export function fieldsOf(resource: Resource, record: Buffer): readonly RecordField[] {
  const fields: RecordField[] = [];
  addFields(RECORD_SCHEMAS[resource], "", comparableOf(record), fields);
  return fields;
}
