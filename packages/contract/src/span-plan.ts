import { NOTED, type NotedKind, type NotedObject, SLOT, type SlotName } from "./noted-fields.ts";
import type { Resource } from "./resource.ts";
import type { FieldKind, FieldSchema } from "./schema/field.ts";
import { RECORD_SCHEMAS } from "./schema/record-schemas.ts";

/** Numbers at the front of what is kept of a record, before its own spans; see `walk-spans.ts`. */
export const HEAD_NUMBERS = 8;
/** Numbers at the front of an item: the next of its list, and the place of the stay that it belongs to. */
export const ITEM_NUMBERS = 2;

/** How a member's value is walked: numbers, as one is looked at for each member of each record. */
export const WALK = {
  skip: 0,
  text: 1,
  date: 2,
  timestamp: 3,
  count: 4,
  integer: 5,
  decimal: 6,
  array: 7,
  object: 8,
} as const;

/** One member of an object, as the walk reads it. */
export interface SpanMember {
  readonly name: string;
  /** The quoted name and the colon, as they stand where nobody writes white space. */
  readonly glueLength: number;
  /** The name in its quotes. */
  readonly quoted: Uint8Array;
  /** Where its words stand in GLUE_WORDS, and where the last does. */
  readonly wordFirst: number;
  readonly wordLast: number;
  /** Of this member among those of its object. */
  readonly bit: number;
  /** One of WALK. */
  readonly kind: number;
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

const KINDS: Readonly<Record<FieldKind, number>> = {
  text: WALK.text,
  code: WALK.text,
  identity: WALK.text,
  date: WALK.date,
  timestamp: WALK.timestamp,
  count: WALK.count,
  integer: WALK.integer,
  decimal: WALK.decimal,
  boolean: WALK.skip,
  word: WALK.skip,
  "flag-or-code": WALK.skip,
  "code-or-object": WALK.skip,
  array: WALK.skip,
  object: WALK.skip,
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
  const isWalked = column >= 0 || soughtAt >= 0 || slot !== SLOT.unused || kind === WALK.count;
  const intoKind = schema.fieldKind === "array" ? WALK.array : WALK.object;
  return {
    name,
    quoted: glue.subarray(0, -1),
    glueLength: glue.length,
    ...placeOfWords(glue),
    bit: 1 << at,
    kind: into !== undefined ? intoKind : isWalked ? kind : WALK.skip,
    nullable: schema.nullable === true,
    column: column < 0 ? 0 : front + 2 * column,
    sought: soughtAt < 0 ? 0 : front + 2 * (columns.length + soughtAt),
    slot,
    isContent: !notContent.includes(name),
    inner: into === undefined ? undefined : planOf(schema.items ?? schema, into, false),
    next: undefined,
  };
}

/**
 * The glue of all members, four bytes a number, little endian; the last of a member are its last four, whatever came
 * before. In one array, which compiled code knows where to find.
 */
export const GLUE_WORDS = new Int32Array(4_096);
let wordsMade = 0;

function placeOfWords(glue: Buffer): { readonly wordFirst: number; readonly wordLast: number } {
  const wordFirst = wordsMade;
  for (let at = 0; at < glue.length; at += 4) {
    GLUE_WORDS[wordsMade] = glue.readInt32LE(Math.min(at, glue.length - 4));
    wordsMade += 1;
  }
  if (wordsMade > GLUE_WORDS.length) throw new Error("The members' names take more room than there is.");
  return { wordFirst, wordLast: wordsMade - 1 };
}

/** The plan of each resource's records. The walks are its only users, and change what they expect to come next. */
export const SPAN_PLANS: Readonly<Record<Resource, SpanPlan>> = {
  inventories: planOf(RECORD_SCHEMAS.inventories, NOTED.inventories, true),
  reservations: planOf(RECORD_SCHEMAS.reservations, NOTED.reservations, true),
  groups: planOf(RECORD_SCHEMAS.groups, NOTED.groups, true),
};

/** Where the spans of the members of SOUGHT begin among the numbers of a record: after those of its columns. */
export const SOUGHT_FROM: Readonly<Record<Resource, number>> = {
  inventories: HEAD_NUMBERS + 2 * (NOTED.inventories.columns?.length ?? 0),
  reservations: HEAD_NUMBERS + 2 * (NOTED.reservations.columns?.length ?? 0),
  groups: HEAD_NUMBERS + 2 * (NOTED.groups.columns?.length ?? 0),
};
