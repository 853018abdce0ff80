import type { Resource } from "../resource.ts";
import { CODE_CHARACTERS_MAX, type FieldKind, type FieldSchema, TEXT_CHARACTERS_MAX } from "./field.ts";
import { RECORD_SCHEMAS } from "./record-schemas.ts";

/** What `walkRecord` reads a value by, made once from the schema of its field. */
export interface ValuePlan {
  readonly kind: FieldKind;
  readonly nullable: boolean;
  /** Of a text, in characters. */
  readonly lengthMin: number;
  readonly lengthMax: number;
  /** The words of an enumeration, each as it stands between its quotes. */
  readonly words: readonly Uint8Array[];
  /** Of an array. */
  readonly items: ValuePlan | undefined;
  readonly itemsMin: number;
  /** Of an object. */
  readonly members: readonly MemberPlan[];
  readonly requiredCount: number;
  /** The first and the last date of a period, which must be in order. */
  readonly period: readonly [MemberPlan, MemberPlan] | undefined;
  /** The member that began the last object: partners write every object of a kind in one order. */
  first: MemberPlan | undefined;
}

/** One member of an object, and what the walk noted of the last one that it read. */
export interface MemberPlan {
  readonly name: string;
  /** The name and the quote that ends it. */
  readonly nameBytes: Uint8Array;
  readonly value: ValuePlan;
  readonly required: boolean;
  /** The member that followed it the last time. */
  next: MemberPlan | undefined;
  /** The number of the object in which it was read last: a second time in one is a repeated name. */
  object: number;
  /** Where its value began and ended. */
  start: number;
  end: number;
  /** A date as the number YYYYMMDD. */
  date: number;
}

function planOf(schema: FieldSchema): ValuePlan {
  const kind = schema.fieldKind;
  const members = Object.entries(schema.properties ?? {}).map(([name, field]) =>
    memberOf(name, field, schema.required?.includes(name) === true),
  );
  members.forEach((member, at) => {
    member.next = members[at + 1];
  });
  const [first, last] = (schema.period ?? []).map((name) => members.find((member) => member.name === name));
  return {
    kind,
    nullable: schema.nullable === true,
    lengthMin: kind === "identity" ? 1 : 0,
    lengthMax: kind === "text" ? TEXT_CHARACTERS_MAX : CODE_CHARACTERS_MAX,
    words: (schema.enum ?? []).map((word) => Buffer.from(`${word}"`)),
    items: schema.items === undefined ? undefined : planOf(schema.items),
    itemsMin: schema.minItems ?? 0,
    members,
    requiredCount: members.filter((member) => member.required).length,
    period: first === undefined || last === undefined ? undefined : [first, last],
    first: members[0],
  };
}

function memberOf(name: string, schema: FieldSchema, required: boolean): MemberPlan {
  return {
    name,
    nameBytes: Buffer.from(`${name}"`),
    value: planOf(schema),
    required,
    next: undefined,
    object: 0,
    start: 0,
    end: 0,
    date: 0,
  };
}

/** How deep the records of a plan nest: an object without members that nest is 1. */
export function depthOf(plan: ValuePlan): number {
  const below = plan.items === undefined ? plan.members.map(({ value }) => value) : [plan.items];
  const deepest = Math.max(0, ...below.map(depthOf));
  return plan.kind === "object" || plan.kind === "array" ? deepest + 1 : deepest;
}

/** The field of each resource whose newest wins. */
export const SOURCE_TIME_FIELD: Readonly<Record<Resource, string>> = {
  inventories: "createDateTime",
  reservations: "lastModifiedDateTime",
  groups: "lastModifiedDateTime",
};

/** The plan of a resource's records, the two members that say whose a record is, and the one that says of when. */
export interface RecordPlan {
  readonly plan: ValuePlan;
  readonly clientCode: MemberPlan;
  readonly propertyCode: MemberPlan;
  readonly sourceTime: MemberPlan;
}

function recordPlanOf(resource: Resource): RecordPlan {
  const plan = planOf(RECORD_SCHEMAS[resource]);
  const memberNamed = (name: string) =>
    plan.members.find((member) => member.name === name && member.required) as MemberPlan;
  return {
    plan,
    clientCode: memberNamed("clientCode"),
    propertyCode: memberNamed("propertyCode"),
    sourceTime: memberNamed(SOURCE_TIME_FIELD[resource]),
  };
}

/** The plan of each resource's records. The walk is its only user: what it notes in it is of its last record. */
export const RECORD_PLANS: Readonly<Record<Resource, RecordPlan>> = {
  inventories: recordPlanOf("inventories"),
  reservations: recordPlanOf("reservations"),
  groups: recordPlanOf("groups"),
};
