import { NOTED, type NotedKind, type NotedObject, SLOT, type SlotName } from "./noted-fields.ts";
import type { Resource } from "./resource.ts";
import type { FieldKind, FieldSchema } from "./schema/field.ts";
import { RECORD_SCHEMAS } from "./schema/record-schemas.ts";

/** Numbers at the front of what is kept of a record, before its own spans; see `walk-spans.ts`. */
export const HEAD_NUMBERS = 8;
/** Numbers at the front of an item: the next of its list, and the place of the stay that it belongs to. */
export const ITEM_NUMBERS = 2;

/** How a member's value is walked. */
export type WalkKind =
  | "skip"
  | "text"
  | "date"
  | "timestamp"
  | "count"
  | "integer"
  | "decimal"
  | "array"
  | "object";

/** One member of an object, as the walk reads it. */
export interface SpanMember {
  readonly name: string;
  /** The quoted name and the colon, as they stand where nobody writes white space. */
  readonly glue: Uint8Array;
  /** The name in its quotes. */
  readonly quoted: Uint8Array;
  /** The glue, four bytes a number, little endian; the last are its last four, whatever came before. */
  readonly words: Int32Array;
  /** Of this member among those of its object. */
  readonly bit: number;
  readonly kind: WalkKind;
  readonly nullable: boolean;
  /** Places of the numbers that keep its span, within those of its object; 0 for none. A key may be a fact too. */
  readonly column: number;
  readonly sought: number;
  readonly slot: number;
  readonly isContent: boolean;
  /** Of an object, or of the items of an array. */
  readonly inner: SpanPlan | undefined;
  /** The member that followed it the last time. */
  next: SpanMember | undefined;
}

/** One kind of object. */
export interface SpanPlan {
  readonly kind: NotedKind;
  readonly members: readonly SpanMember[];
  /** The bits of all members that must be there. */
  readonly requiredBits: number;
  /** The list that it is an item of; -1 for none. */
  readonly list: number;
  /** How many numbers are kept of one. */
  readonly numbers: number;
  readonly slotFirst: number;
  readonly slotLast: number;
  /** The member that began the last one. */
  first: SpanMember | undefined;
}

const KINDS: Readonly<Record<FieldKind, WalkKind>> = {
  text: "text",
  code: "text",
  identity: "text",
  date: "date",
  timestamp: "timestamp",
  count: "count",
  integer: "integer",
  decimal: "decimal",
  boolean: "skip",
  word: "skip",
  "flag-or-code": "skip",
  "code-or-object": "skip",
  array: "skip",
  object: "skip",
};

function planOf(schema: FieldSchema, noted: NotedObject, isRecord: boolean): SpanPlan {
  const front = isRecord ? HEAD_NUMBERS : ITEM_NUMBERS;
  const { columns = [], sought = [] } = noted;
  const members = Object.entries(schema.properties ?? {}).map(([name, field], at) =>
    memberOf(name, field, noted, { at, front }),
  );
  if (members.length > 30) throw new Error("An object has more members than a number has bits.");
  members.forEach((member, at) => {
    member.next = members[at + 1];
  });
  const [slotFirst, slotLast] = slotsOf(noted);
  return {
    kind: noted.kind,
    members,
    requiredBits: members.reduce(
      (bits, { name, bit }) => (schema.required?.includes(name) === true ? bits | bit : bits),
      0,
    ),
    list: noted.list ?? -1,
    numbers: front + 2 * (columns.length + sought.length),
    slotFirst,
    slotLast,
    first: members[0],
  };
}

function slotsOf({ slots }: NotedObject): readonly [number, number] {
  return slots === undefined ? [1, 0] : [SLOT[slots[0]], SLOT[slots[1]]];
}

function slotOf(name: string, noted: NotedObject): number {
  const slot = Object.hasOwn(SLOT, name) ? SLOT[name as SlotName] : SLOT.unused;
  const [first, last] = slotsOf(noted);
  return slot >= first && slot <= last ? slot : SLOT.unused;
}

function memberOf(
  name: string,
  schema: FieldSchema,
  noted: NotedObject,
  { at, front }: { readonly at: number; readonly front: number },
): SpanMember {
  const { columns = [], sought = [], notContent = [], inner } = noted;
  const column = columns.indexOf(name);
  const soughtAt = sought.indexOf(name);
  const slot = slotOf(name, noted);
  const into = inner?.[name];
  const glue = Buffer.from(`"${name}":`);
  const kind = KINDS[schema.fieldKind];
  // A count below zero is warned of wherever it stands.
  const isWalked = column >= 0 || soughtAt >= 0 || slot !== SLOT.unused || kind === "count";
  const fieldKind = schema.fieldKind === "array" ? "array" : "object";
  return {
    name,
    glue,
    quoted: glue.subarray(0, -1),
    words: wordsOf(glue),
    bit: 1 << at,
    kind: into !== undefined ? fieldKind : isWalked ? kind : "skip",
    nullable: schema.nullable === true,
    column: column < 0 ? 0 : front + 2 * column,
    sought: soughtAt < 0 ? 0 : front + 2 * (columns.length + soughtAt),
    slot,
    isContent: !notContent.includes(name),
    inner: into === undefined ? undefined : planOf(schema.items ?? schema, into, false),
    next: undefined,
  };
}

function wordsOf(bytes: Buffer): Int32Array {
  const words = new Int32Array(Math.ceil(bytes.length / 4));
  for (let word = 0; word < words.length; word += 1)
    words[word] = bytes.readInt32LE(Math.min(word * 4, bytes.length - 4));
  return words;
}

/** The plan of each resource's records. The walk is its only user, and changes what it expects to come next. */
export const SPAN_PLANS: Readonly<Record<Resource, SpanPlan>> = {
  inventories: planOf(RECORD_SCHEMAS.inventories, NOTED.inventories, true),
  reservations: planOf(RECORD_SCHEMAS.reservations, NOTED.reservations, true),
  groups: planOf(RECORD_SCHEMAS.groups, NOTED.groups, true),
};
