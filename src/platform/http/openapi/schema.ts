import { type Answer, type Reference, type Schema, schemaOf } from "./model.ts";

declare const VALUE: unique symbol;

/** A schema of the OpenAPI document and, for the compiler only, the type of its values. */
export type Field<Value> = Schema & { readonly [VALUE]?: Value };

/** A successful answer and, for the compiler only, the type of its body. */
export type AnswerOf<Value> = Answer & { readonly [VALUE]?: Value };

/** The type of the values of a schema; unknown for one that no builder made. */
export type ValueOf<Of> = typeof VALUE extends keyof Of
  ? Of extends { readonly [VALUE]?: infer Value }
    ? Value
    : never
  : unknown;

export type Fields = Readonly<Record<string, Schema>>;

/** The type of an object with these fields, all of which are there. */
export type ValuesOf<Of> = { readonly [Name in keyof Of]: ValueOf<Of[Name]> };

/** The type of an object some of whose fields may be absent. */
export type ObjectOf<Of, Absent extends keyof Of = never> = Omit<ValuesOf<Of>, Absent> &
  Partial<Pick<ValuesOf<Of>, Absent>>;

/** Excludes NUL, which PostgreSQL cannot store. */
const TEXT_PATTERN = "^[^\\u0000]*$";

export function text(
  description: string,
  maxLength: number,
  example: string,
  pattern = TEXT_PATTERN,
): Field<string> {
  return { type: "string", maxLength, pattern, description, examples: [example] };
}

export function choice<Word extends string>(
  description: string,
  values: readonly Word[],
  example: NoInfer<Word>,
  meanings?: Readonly<Record<string, string>>,
): Field<Word> {
  const described = meanings === undefined ? {} : { "x-enumDescriptions": meanings };
  return { type: "string", enum: [...values], description, ...described, examples: [example] };
}

export function constant<Word extends string>(description: string, value: Word): Field<Word> {
  return { type: "string", const: value, description, examples: [value] };
}

export function flag(description: string, example: boolean): Field<boolean> {
  return { type: "boolean", description, examples: [example] };
}

export function integer(
  description: string,
  minimum: number,
  maximum: number,
  example: number,
): Field<number> {
  return { type: "integer", format: "int32", minimum, maximum, description, examples: [example] };
}

export function count(description: string, example = 0): Field<number> {
  return integer(description, 0, 2_147_483_647, example);
}

export function uuid(description: string, example: string): Field<string> {
  return { type: "string", format: "uuid", maxLength: 36, description, examples: [example] };
}

export function day(description: string, example: string): Field<string> {
  return { type: "string", format: "date", minLength: 10, maxLength: 10, description, examples: [example] };
}

/** A UTC time as written by the service. */
export function time(description: string, example: string): Field<string> {
  return { type: "string", format: "date-time", maxLength: 27, description, examples: [example] };
}

/** A UTC time of the schema `Timestamp`. */
export function timestamp(description: string, ...examples: string[]): Field<string> {
  return { ...schemaOf("Timestamp"), description, ...(examples.length === 0 ? {} : { examples }) };
}

export function list<Item>(
  description: string,
  maxItems: number,
  items: Field<Item>,
  example?: NoInfer<readonly Item[]>,
): Field<readonly Item[]> {
  const examples = example === undefined ? {} : { examples: [example] };
  return { type: "array", maxItems, description, items, ...examples };
}

/** An object whose fields are all required except `optional`. */
export function objectOf<Of extends Fields, Absent extends string & keyof Of = never>(
  description: string,
  properties: Of,
  ...optional: readonly Absent[]
): Field<ObjectOf<Of, Absent>> & { readonly properties: Of } {
  const absent: readonly string[] = optional;
  const required = Object.keys(properties).filter((name) => !absent.includes(name));
  return { type: "object", description, required, properties };
}

/** The object of a request body. Refuses unknown fields, because ignoring one would hide a mistake. */
export function formOf<Of extends Fields, Absent extends string & keyof Of = never>(
  description: string,
  properties: Of,
  ...optional: readonly Absent[]
): Field<ObjectOf<Of, Absent>> {
  return { ...objectOf(description, properties, ...optional), additionalProperties: false };
}

export function orNull<Value>(schema: Field<Value>): Field<Value | null> {
  const values = schema.enum === undefined ? {} : { enum: [...schema.enum, null] };
  return { ...schema, type: [schema.type as string, "null"], ...values };
}

/** A value of a named schema, or null. */
export function componentOrNull<Value>(
  description: string,
  named: Reference & Field<Value>,
): Field<Value | null> {
  return { description, anyOf: [named, { type: "null" }] };
}

const DEFINITION = Symbol("The schema that a reference is to");

/** A reference to a named schema of the document, which gets the schema from it. */
export type Component<Value> = Reference & Field<Value> & { readonly [DEFINITION]: Schema };

/** Names a schema. The document has it as soon as an endpoint uses it. */
export function component<Value>(name: string, schema: Field<Value>): Component<Value> {
  return { ...schemaOf(name), [DEFINITION]: schema };
}

/** The named schemas that a part of the document uses, each before those that use it. Throws if two have one name. */
export function componentsIn(part: unknown, found: Record<string, Schema> = {}): Record<string, Schema> {
  if (typeof part !== "object" || part === null) return found;
  const { $ref = "", [DEFINITION]: definition } = part as Partial<Component<unknown>>;
  if (definition !== undefined) {
    const name = $ref.slice($ref.lastIndexOf("/") + 1);
    if (found[name] === undefined) componentsIn(definition, found);
    found[name] ??= definition;
    if (found[name] !== definition) throw new Error(`Two schemas are named ${name}.`);
  }
  for (const member of Object.values(part)) componentsIn(member, found);
  return found;
}

/** The fields of an object's schema; undefined if it has none, or is named elsewhere. */
export function declaredFields(schema: Schema): Readonly<Record<string, Schema>> | undefined {
  return ((schema as Partial<Component<unknown>>)[DEFINITION] ?? schema).properties;
}

/** A value with the fields of its schema only, in their order. A schema that is named elsewhere, or has no fields, changes nothing. */
export function onlyDeclared(schema: Schema, value: unknown): unknown {
  const { properties, items, anyOf } = (schema as Partial<Component<unknown>>)[DEFINITION] ?? schema;
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value))
    return items === undefined ? value : value.map((item) => onlyDeclared(items, item));
  const [only, ...others] = anyOf?.filter(({ type }) => type !== "null") ?? [];
  if (only !== undefined && others.length === 0) return onlyDeclared(only, value);
  if (properties === undefined) return value;
  const own = value as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(properties).map(([name, field]) => [name, onlyDeclared(field, own[name])]),
  );
}

/**
 * An example of an object. A field takes its value from `shown`, otherwise null if it is nullable, otherwise its own
 * example.
 */
export function exampleOf<Of extends Fields>(
  properties: Of,
  shown: Partial<NoInfer<ValuesOf<Of>>> = {},
): ValuesOf<Of> {
  const examples = Object.entries(properties).map(([name, { type, examples, items }]) => {
    if (name in shown) return [name, shown[name]];
    if (type === "array") return [name, examples?.[0] ?? items?.examples];
    return [name, Array.isArray(type) ? null : examples?.[0]];
  });
  return Object.fromEntries(examples) as ValuesOf<Of>;
}
