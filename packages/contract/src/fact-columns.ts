import { FIELD_KINDS, type SqlType } from "./field-kinds.ts";
import { byResource, type Resource } from "./resource.ts";
import type { FieldSchema, ObjectField } from "./schema/field.ts";
import { FIELDS, RECORD_OBJECTS, RECORD_SCHEMAS } from "./schema/record-schemas.ts";

type ObjectName = keyof typeof RECORD_OBJECTS;

/** A fact as SQL reads it. */
export interface FactColumn {
  readonly name: string;
  /** Its number; see `FieldNotes`. */
  readonly fact: number;
  readonly type: SqlType;
  /** The path of its field, such as `roomStays[].rateCode`; undefined if it is none. */
  readonly path?: string;
}

const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The column of a field; undefined if it is no fact. */
function columnOf(path: string, { fieldKind, notes }: FieldSchema): FactColumn | undefined {
  if (notes?.fact === undefined) return undefined;
  const { sql: type } = FIELD_KINDS[fieldKind];
  if (type === undefined) throw new Error(`${path} cannot be a fact: a ${fieldKind} is none.`);
  return {
    name: notes.sql ?? snakeCase(path.slice(path.lastIndexOf(".") + 1)),
    fact: notes.fact,
    type,
    path,
  };
}

/** The columns of the facts that the items of a list have besides their members. */
function itemColumns(schema: FieldSchema): readonly FactColumn[] {
  const { stayFact, virtualFact } = schema.itemNotes ?? {};
  const object = Object.entries<FieldSchema>(RECORD_OBJECTS).find(([, each]) => each === schema)?.[0] ?? "";
  return [
    ...(stayFact === undefined
      ? []
      : [{ name: `${object}_stay_index`, fact: stayFact, type: "integer" } as const]),
    ...(virtualFact === undefined
      ? []
      : [{ name: "is_virtual", fact: virtualFact, type: "boolean" } as const]),
  ];
}

/** The columns of an object's facts, in the order of its schema. */
export function factColumnsOf(object: ObjectName): readonly FactColumn[] {
  const schema: ObjectField = RECORD_OBJECTS[object];
  const own = Object.entries<FieldSchema>(schema.properties).flatMap(
    ([name, field]) => columnOf(name, field) ?? [],
  );
  return [...own, ...itemColumns(schema)];
}

/** A fact as a version stores it. */
export interface StoredFact extends FactColumn {
  /** Whether it has an element for each item of a list. */
  readonly isList: boolean;
}

/** All facts of each resource's records, in the order of their numbers. */
export const STORED_FACTS = byResource((resource): readonly StoredFact[] => {
  const facts = new Map<number, StoredFact>();
  const names = new Set<string>();
  for (const fact of storedFacts(resource)) {
    // Virtual room types have the facts of the others.
    if (facts.get(fact.fact)?.name === fact.name) continue;
    if (facts.has(fact.fact)) throw new Error(`Two facts of ${resource} have the number ${fact.fact}.`);
    if (names.has(fact.name))
      throw new Error(`Two facts of ${resource} are named ${fact.name}: note another name (sql).`);
    facts.set(fact.fact, fact);
    names.add(fact.name);
  }
  return [...facts.values()].sort((one, other) => one.fact - other.fact);
});

function storedFacts(resource: Resource): readonly StoredFact[] {
  return [{ path: "", field: RECORD_SCHEMAS[resource] }, ...FIELDS[resource]].flatMap(({ path, field }) => {
    const own = columnOf(path, field);
    const ofItems = field.items === undefined ? [] : itemColumns(field.items);
    return [
      ...(own === undefined ? [] : [{ ...own, isList: path.includes("[]") }]),
      ...ofItems.map((column) => ({ ...column, isList: true })),
    ];
  });
}
