import { type Parameter, type Schema, schemaOf } from "./model.ts";

/** Excludes NUL, which PostgreSQL cannot store. */
const TEXT_PATTERN = "^[^\\u0000]*$";

type Properties = Readonly<Record<string, Schema>>;

export function text(
  description: string,
  maxLength: number,
  example: string,
  pattern = TEXT_PATTERN,
): Schema {
  return { type: "string", maxLength, pattern, description, examples: [example] };
}

export function choice(
  description: string,
  values: readonly string[],
  example: string,
  meanings?: Readonly<Record<string, string>>,
): Schema {
  const described = meanings === undefined ? {} : { "x-enumDescriptions": meanings };
  return { type: "string", enum: [...values], description, ...described, examples: [example] };
}

export function constant(description: string, value: string): Schema {
  return { type: "string", const: value, description, examples: [value] };
}

export function flag(description: string, example: boolean): Schema {
  return { type: "boolean", description, examples: [example] };
}

export function integer(description: string, minimum: number, maximum: number, example: number): Schema {
  return { type: "integer", format: "int32", minimum, maximum, description, examples: [example] };
}

export function count(description: string, example = 0): Schema {
  return integer(description, 0, 2_147_483_647, example);
}

export function uuid(description: string, example: string): Schema {
  return { type: "string", format: "uuid", maxLength: 36, description, examples: [example] };
}

export function day(description: string, example: string): Schema {
  return { type: "string", format: "date", minLength: 10, maxLength: 10, description, examples: [example] };
}

/** A UTC time as written by the service. */
export function time(description: string, example: string): Schema {
  return { type: "string", format: "date-time", maxLength: 27, description, examples: [example] };
}

/** A UTC time of the schema `Timestamp`. */
export function timestamp(description: string, ...examples: string[]): Schema {
  return { ...schemaOf("Timestamp"), description, ...(examples.length === 0 ? {} : { examples }) };
}

export function list(description: string, maxItems: number, items: Schema): Schema {
  return { type: "array", maxItems, description, items };
}

/** An object whose fields are all required except `optional`. */
export function objectOf(description: string, properties: Properties, ...optional: string[]): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", description, required, properties };
}

/** The object of a request body. Refuses unknown fields, because ignoring one would hide a mistake. */
export function formOf(description: string, properties: Properties, ...optional: string[]): Schema {
  return { ...objectOf(description, properties, ...optional), additionalProperties: false };
}

export function orNull(schema: Schema): Schema {
  const values = schema.enum === undefined ? {} : { enum: [...schema.enum, null] };
  return { ...schema, type: [schema.type as string, "null"], ...values };
}

/**
 * An example of an object. A field takes its value from `shown`, otherwise null if it is nullable, otherwise its own
 * example.
 */
export function exampleOf(
  properties: Properties,
  shown: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const examples = Object.entries(properties).map(([name, { type, examples, items }]) => {
    if (name in shown) return [name, shown[name]];
    if (type === "array") return [name, examples?.[0] ?? items?.examples];
    return [name, Array.isArray(type) ? null : examples?.[0]];
  });
  return Object.fromEntries(examples);
}

export function pathParameter(name: string, description: string, schema: Schema): Parameter {
  return { name, in: "path", required: true, description, schema };
}
