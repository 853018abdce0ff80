import { DECIMAL_DIGITS_MAX } from "./decimal.ts";
import type { Resource } from "./resource.ts";
import {
  CODE_CHARACTERS_MAX,
  type FieldKind,
  type FieldSchema,
  ITEMS_MAX,
  TEXT_CHARACTERS_MAX,
} from "./schema/field.ts";
import { RECORD_SCHEMAS } from "./schema/record-schemas.ts";

type JsonSchema = Readonly<Record<string, unknown>>;

/** The name of a resource's record among the OpenAPI components. */
export const COMPONENT_NAMES = {
  inventories: "Inventory",
  reservations: "Reservation",
  groups: "Group",
} as const satisfies Record<Resource, string>;

// Any character but NUL: what a text may hold.
const TEXT_PATTERN = "^[^\\u0000]*$";
const INT32 = { minimum: -2_147_483_648, maximum: 2_147_483_647 } as const;

/**
 * The schema of each resource's record as an OpenAPI 3.1 component (JSON Schema 2020-12), made from the schemas that the
 * service checks with. What JSON Schema cannot say (real calendar dates, dates in order, 38 digits) stands in the
 * descriptions. Every text has a greatest length, every array a greatest number of items.
 */
export function componentSchemas(): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(RECORD_SCHEMAS).map(([resource, schema]) => [
      COMPONENT_NAMES[resource as Resource],
      toOpenApi(schema),
    ]),
  );
}

/** One schema as JSON Schema 2020-12. */
export function toOpenApi(schema: FieldSchema): JsonSchema {
  const described = { description: schema.description, ...LEAVES[schema.fieldKind](schema) };
  const example = schema.example === undefined ? {} : { examples: [schema.example] };
  return schema.nullable ? { ...withNull(described), ...example } : { ...described, ...example };
}

function withNull(schema: JsonSchema): JsonSchema {
  return { ...schema, type: [schema["type"], "null"] };
}

const LEAVES: Readonly<Record<FieldKind, (schema: FieldSchema) => JsonSchema>> = {
  text: () => ({ type: "string", maxLength: TEXT_CHARACTERS_MAX, pattern: TEXT_PATTERN }),
  code: () => ({ type: "string", maxLength: CODE_CHARACTERS_MAX, pattern: TEXT_PATTERN }),
  identity: () => ({ type: "string", minLength: 1, maxLength: CODE_CHARACTERS_MAX, pattern: TEXT_PATTERN }),
  date: () => ({ type: "string", format: "date", minLength: 10, maxLength: 10 }),
  timestamp: () => ({
    type: "string",
    format: "date-time",
    minLength: 20,
    maxLength: 27,
    pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?Z$",
  }),
  count: wholeNumber,
  integer: wholeNumber,
  decimal: () => ({
    anyOf: [
      { type: "number" },
      {
        type: "string",
        maxLength: 64,
        pattern: "^-?[0-9]+([.][0-9]+)?$",
        description: `A numeric text of at most ${DECIMAL_DIGITS_MAX} digits.`,
      },
    ],
  }),
  boolean: () => ({ type: "boolean" }),
  word: (schema) => ({ type: "string", enum: [...(schema.enum ?? [])] }),
  "flag-or-code": () => ({
    anyOf: [{ type: "boolean" }, { type: "string", maxLength: CODE_CHARACTERS_MAX, pattern: TEXT_PATTERN }],
  }),
  "code-or-object": () => ({
    anyOf: [
      { type: "string", maxLength: CODE_CHARACTERS_MAX, pattern: TEXT_PATTERN },
      { type: "object", additionalProperties: true },
    ],
  }),
  array: (schema) => ({
    type: "array",
    ...(schema.minItems ? { minItems: schema.minItems } : {}),
    maxItems: ITEMS_MAX,
    items: toOpenApi(schema.items as FieldSchema),
  }),
  object: (schema) => ({
    type: "object",
    ...((schema.required ?? []).length > 0 ? { required: [...(schema.required ?? [])] } : {}),
    properties: Object.fromEntries(
      Object.entries(schema.properties ?? {}).map(([name, property]) => [name, toOpenApi(property)]),
    ),
    additionalProperties: true,
  }),
};

function wholeNumber(): JsonSchema {
  return {
    anyOf: [
      { type: "integer", format: "int32", ...INT32 },
      {
        type: "string",
        maxLength: 64,
        pattern: "^-?[0-9]+([.]0+)?$",
        description: "A text of digits whose value fits 32 bits.",
      },
    ],
  };
}
