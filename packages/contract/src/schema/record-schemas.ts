import { isCalendarDate, isUtcTimestamp } from "../calendar.ts";
import { isDecimal, isInteger } from "../decimal.ts";
import type { Resource } from "../resource.ts";
import {
  CODE_CHARACTERS_MAX,
  type FieldKind,
  type FieldSchema,
  hasAtMost,
  ITEMS_MAX,
  inOrder,
  isObject,
  TEXT_CHARACTERS_MAX,
} from "./field.ts";
import { groupSchema } from "./group.ts";
import { inventorySchema } from "./inventory.ts";
import { reservationSchema } from "./reservation.ts";

/** Whether a value is what a schema says; it does not say why not. */
type Check = (value: unknown) => boolean;

/** Makes the check of a schema: closures over its fields, made once, so that a check looks nothing up and allocates nothing. */
function compileCheck(schema: FieldSchema): Check {
  const check = KINDS[schema.fieldKind](schema);
  return schema.nullable === true ? (value) => value === null || check(value) : check;
}

const isCode: Check = (value) => typeof value === "string" && hasAtMost(value, CODE_CHARACTERS_MAX);

const KINDS: Readonly<Record<FieldKind, (schema: FieldSchema) => Check>> = {
  text: () => (value) => typeof value === "string" && hasAtMost(value, TEXT_CHARACTERS_MAX),
  code: () => isCode,
  identity: () => (value) => value !== "" && isCode(value),
  date: () => (value) => typeof value === "string" && isCalendarDate(value),
  timestamp: () => (value) => typeof value === "string" && isUtcTimestamp(value),
  count: () => isInteger,
  integer: () => isInteger,
  decimal: () => isDecimal,
  boolean: () => (value) => typeof value === "boolean",
  word: ({ enum: words = [] }) => {
    const set: ReadonlySet<unknown> = new Set(words);
    return (value) => set.has(value);
  },
  "flag-or-code": () => (value) => typeof value === "boolean" || isCode(value),
  "code-or-object": () => (value) => isCode(value) || isObject(value),
  array: arrayCheck,
  object: objectCheck,
};

function arrayCheck({ items, minItems = 0 }: FieldSchema): Check {
  if (items === undefined) throw new Error("A schema of an array says nothing of its items");
  const checkItem = compileCheck(items);
  return (value) => {
    if (!Array.isArray(value) || value.length < minItems || value.length > ITEMS_MAX) return false;
    for (let at = 0; at < value.length; at += 1) if (!checkItem(value[at])) return false;
    return true;
  };
}

function objectCheck({ properties = {}, required = [], period }: FieldSchema): Check {
  const members = Object.entries(properties).map(([name, schema]) => ({
    name,
    check: compileCheck(schema),
    optional: !required.includes(name),
  }));
  // A member is looked up without asking whose it is: nothing that every object inherits may be a name of the contract.
  const inherited = members.find(({ name }) => name in Object.prototype);
  if (inherited !== undefined) throw new Error(`A member may not be named ${inherited.name}`);
  return (value) => {
    if (!isObject(value)) return false;
    for (const { name, check, optional } of members) {
      const member = value[name];
      if (member === undefined ? !optional : !check(member)) return false;
    }
    return period === undefined || inOrder(value[period[0]], value[period[1]]);
  };
}

/** The schema of each resource, as the walk for violations and the OpenAPI document read it. */
export const RECORD_SCHEMAS: Readonly<Record<Resource, FieldSchema>> = {
  inventories: inventorySchema,
  reservations: reservationSchema,
  groups: groupSchema,
};

/** The names of all fields of each resource's records, whatever objects they stand in. */
export const FIELD_NAMES: Readonly<Record<Resource, ReadonlySet<string>>> = {
  inventories: new Set(namesIn(inventorySchema)),
  reservations: new Set(namesIn(reservationSchema)),
  groups: new Set(namesIn(groupSchema)),
};

function namesIn({ properties = {}, items }: FieldSchema): readonly string[] {
  const within = Object.values(properties).flatMap(namesIn);
  return [...Object.keys(properties), ...within, ...(items === undefined ? [] : namesIn(items))];
}

const CHECKS = {
  inventories: compileCheck(inventorySchema),
  reservations: compileCheck(reservationSchema),
  groups: compileCheck(groupSchema),
};

/** Whether a value is a valid record of a resource. It does not say why not. */
export function isValidRecord(resource: Resource, value: unknown): boolean {
  return CHECKS[resource](value);
}
