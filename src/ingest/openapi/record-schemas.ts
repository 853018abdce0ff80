import { componentSchemas } from "#contract/component-schemas.ts";
import { RECORD_BYTES_MAX } from "#contract/read-batch.ts";
import { type Schema, schemaOf } from "../../platform/http/openapi/model.ts";

/**
 * The names of the objects within records, by where they stand: a generated client has `RoomStay` then, and not
 * `ReservationRoomStaysInner`. Objects of one shape have one name.
 */
const OBJECT_NAMES: Readonly<Record<string, string>> = {
  "Inventory.roomTypeInventories": "RoomTypeInventory",
  "Inventory.virtualRoomTypeInventories": "RoomTypeInventory",
  "Reservation.roomStays": "RoomStay",
  "RoomStay.rates": "Rate",
  "RoomStay.childAgeBuckets": "ChildAgeBucket",
  "RoomStay.services": "ReservationService",
  "Reservation.profiles": "Profile",
  "Reservation.stayRevenue": "StayRevenue",
  "StayRevenue.daily": "DailyRevenue",
  "StayRevenue.summary": "SummaryRevenue",
  "Group.groupBlocks": "GroupBlock",
  "Group.services": "GroupService",
};

/** Types that many fields share, recognised by a field that has each. */
const SHARED_TYPES = {
  WholeNumber: {
    description: "An integer that fits 32 bits: a JSON number or a string of digits.",
    of: ["Inventory", "roomTypeInventories", "roomsSold"],
  },
  Decimal: {
    description:
      "A decimal of at most 38 digits: a JSON number or a numeric string. Stored exactly, never converted to binary floating point.",
    of: ["Group", "groupBlocks", "singlePersonRate"],
  },
  NullableWholeNumber: {
    description: "An integer that fits 32 bits, as a JSON number or a string of digits, or null.",
    of: ["Group", "groupBlocks", "threePersonOccupancy"],
  },
  NullableDecimal: {
    description:
      "A decimal of at most 38 digits, as a JSON number or a numeric string, stored exactly, or null.",
    of: ["Group", "netRoomRevenue"],
  },
  Timestamp: {
    description:
      "A UTC time with a trailing Z and up to nine fractional digits, returned as sent; the seconds may be omitted. Times are compared by their first six fractional digits.",
    of: ["Inventory", "createDateTime"],
  },
} as const;

const FIELD_NAMES: Schema = {
  type: "string",
  maxLength: RECORD_BYTES_MAX,
  pattern: "^(?!(__proto__|constructor|prototype)$)[^\\u0000]*$",
};

/**
 * The fields of an object, unknown ones too. Known ones are what any field may be besides, so `patternProperties` says what
 * `additionalProperties` would: generators of clients fail on a type that names itself there, and read no patterns.
 */
const ANY_FIELDS: Schema = {
  propertyNames: FIELD_NAMES,
  patternProperties: { "^": schemaOf("UnknownField") },
};

/** What a field may hold that this version does not know. */
const UNKNOWN_FIELD: Schema = {
  description:
    "An unknown field. It is stored and returned verbatim. A number is within the range of a double.",
  anyOf: [
    { type: ["null", "boolean", "number"] },
    { type: "string", maxLength: RECORD_BYTES_MAX, pattern: "^[^\\u0000]*$" },
    { type: "array", maxItems: 250_000, items: schemaOf("UnknownField") },
    { type: "object", ...ANY_FIELDS },
  ],
};

function withoutNotes({ description: _description, examples: _examples, ...type }: Schema): Schema {
  return type;
}

function fieldAt(schemas: Readonly<Record<string, Schema>>, [root, ...names]: readonly string[]): Schema {
  let at = schemas[root as string];
  for (const name of names) at = (at?.items ?? at)?.properties?.[name];
  if (at === undefined) throw new Error(`The records have no field ${names.join(".")}.`);
  return at;
}

/** Takes the objects within records out into components of their own, and shared types too. */
class Hoist {
  readonly components: Record<string, Schema> = {};
  readonly #shared = new Map<string, string>();

  constructor(records: Readonly<Record<string, Schema>>) {
    for (const [name, { description, of }] of Object.entries(SHARED_TYPES)) {
      const type = withoutNotes(fieldAt(records, of));
      this.#shared.set(JSON.stringify(type), name);
      this.components[name] = { description, ...type };
    }
  }

  object(name: string, schema: Schema): void {
    const properties = Object.fromEntries(
      Object.entries(schema.properties ?? {}).map(([field, type]) => [
        field,
        this.#field(`${name}.${field}`, type),
      ]),
    );
    const component = { ...schema, properties, ...ANY_FIELDS };
    const known = this.components[name];
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(component))
      throw new Error(`Two different shapes are named ${name}.`);
    this.components[name] = component;
  }

  #field(path: string, schema: Schema): Schema {
    const shared = this.#shared.get(JSON.stringify(withoutNotes(schema)));
    if (shared !== undefined) return { ...schemaOf(shared), ...this.#notes(schema) };
    if (schema.items?.properties !== undefined) return { ...schema, items: this.#named(path, schema.items) };
    if (schema.properties !== undefined) return this.#named(path, schema);
    return schema;
  }

  #named(path: string, schema: Schema): Schema {
    const name = OBJECT_NAMES[path];
    if (name === undefined) throw new Error(`The object at ${path} has no name: add one to OBJECT_NAMES.`);
    this.object(name, schema);
    return schemaOf(name);
  }

  #notes({ description, examples }: Schema): Schema {
    return {
      ...(description === undefined ? {} : { description }),
      ...(examples === undefined ? {} : { examples }),
    };
  }
}

/**
 * The schemas of the records and of everything in them, as OpenAPI components. Made from the schemas that the service
 * checks with; only where a part stands differs. Throws for an object without a name in OBJECT_NAMES.
 */
export function recordSchemas(): Record<string, Schema> {
  const records = componentSchemas() as Record<string, Schema>;
  const hoist = new Hoist(records);
  for (const [name, schema] of Object.entries(records)) hoist.object(name, schema);
  return { ...hoist.components, UnknownField: UNKNOWN_FIELD };
}
