import {
  NOTED,
  type NotedKind,
  type NotedObject,
  SLOT,
  SLOTS,
  type SlotName,
  SOUGHT,
} from "./noted-fields.ts";
import type { Resource } from "./resource.ts";
import {
  CODE_CHARACTERS_MAX,
  type FieldKind,
  type FieldSchema,
  TEXT_CHARACTERS_MAX,
} from "./schema/field.ts";
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
  /** The kinds that only the check of a record looks at. */
  boundedText: 9,
  boolean: 10,
  word: 11,
  flagOrCode: 12,
  /** Where the walk over a head ends. */
  stop: 13,
} as const;

/** One member of an object or, without a name, the items of an array that are no objects. */
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
  /** Of a text, in characters. */
  readonly lengthMin: number;
  readonly lengthMax: number;
  /** Of an enumeration: its words, each with the quote that ends it. */
  readonly words: readonly Uint8Array[];
  readonly itemsMin: number;
  /** Places of the numbers that keep its span, within those of its object; 0 for none. A key may be a fact too. */
  readonly column: number;
  readonly sought: number;
  readonly slot: number;
  readonly isContent: boolean;
  /** Of an object, or of the items of an array. */
  readonly inner: SpanPlan | undefined;
  readonly items: SpanMember | undefined;
  /** The member that followed it the last time. */
  next: SpanMember | undefined;
}

/**
 * What a walk is for: to say whether every value is valid, to find facts and warnings in a record that is, or to find what it is
 * known by in its members before the first that nests.
 */
type WalkMode = "check" | "facts" | "head";

/** One kind of object. */
export interface SpanPlan {
  readonly mode: WalkMode;
  readonly kind: NotedKind;
  readonly members: readonly SpanMember[];
  /** The bits of all members that must be there. */
  readonly requiredBits: number;
  /** Of a head: those after which nothing else is sought. */
  readonly enoughBits: number;
  /** The list that it is an item of; -1 for none. */
  readonly list: number;
  /** How many numbers are kept of one. */
  readonly numbers: number;
  /** Slots that are emptied where one begins. In a check: those of the dates of its period. */
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

const CHECKED_KINDS: Readonly<Record<FieldKind, number>> = {
  ...KINDS,
  text: WALK.boundedText,
  code: WALK.boundedText,
  identity: WALK.boundedText,
  boolean: WALK.boolean,
  word: WALK.word,
  "flag-or-code": WALK.flagOrCode,
  "code-or-object": WALK.boundedText,
  array: WALK.array,
  object: WALK.object,
};

/** What is noted of an object, and where it stands. */
interface Place {
  readonly mode: WalkMode;
  readonly depth: number;
  readonly noted: NotedObject;
}

const NOTHING: NotedObject = { kind: "other" };
const MEMBERS_MAX = 30;
const NEVER_ENOUGH = 1 << MEMBERS_MAX;

function planOf(schema: FieldSchema, place: Place): SpanPlan {
  const { mode, noted, depth } = place;
  const isCheck = mode === "check";
  const front = depth === 0 ? HEAD_NUMBERS : ITEM_NUMBERS;
  const { columns = [], sought = [] } = noted;
  const [slotFirst, slotLast] = slotsOf(schema, place);
  const slotOf = (name: string) => {
    if (isCheck) return schema.period?.includes(name) ? slotFirst + schema.period.indexOf(name) : SLOT.unused;
    const slot = Object.hasOwn(SLOT, name) ? SLOT[name as SlotName] : SLOT.unused;
    return slot >= slotFirst && slot <= slotLast ? slot : SLOT.unused;
  };
  const members = Object.entries(schema.properties ?? {}).map(([name, field], at) => {
    const column = columns.indexOf(name);
    const soughtAt = sought.indexOf(name);
    const columnPlace = column < 0 ? 0 : front + 2 * column;
    const soughtPlace = soughtAt < 0 ? 0 : front + 2 * (columns.length + soughtAt);
    return memberOf(name, field, place, [1 << at, columnPlace, soughtPlace, slotOf(name)]);
  });
  if (members.length > MEMBERS_MAX) throw new Error("An object has more members than a number has bits.");
  members.forEach((member, at) => {
    member.next = members[at + 1];
  });
  const bitsOf = (names: readonly string[] = []) =>
    members.reduce((bits, { name, bit }) => (names.includes(name) ? bits | bit : bits), 0);
  return {
    mode,
    kind: noted.kind,
    members,
    requiredBits: bitsOf(mode === "head" ? sought : schema.required),
    enoughBits: mode === "head" ? bitsOf([...sought, ...(noted.notContent ?? [])]) : NEVER_ENOUGH,
    list: noted.list ?? -1,
    numbers: front + 2 * (columns.length + sought.length),
    slotFirst,
    slotLast,
    first: members[0],
  };
}

/** No slots are from 1 to 0, and in a check the unused one. There each depth has two, as periods stand within one another. */
function slotsOf({ period }: FieldSchema, { mode, noted, depth }: Place): readonly [number, number] {
  if (mode === "check")
    return period === undefined ? [SLOT.unused, SLOT.unused] : [SLOTS + 2 * depth, SLOTS + 2 * depth + 1];
  return noted.slots === undefined ? [1, 0] : [SLOT[noted.slots[0]], SLOT[noted.slots[1]]];
}

function memberOf(
  name: string,
  schema: FieldSchema,
  { mode, noted, depth }: Place,
  [bit, column, sought, slot]: readonly [number, number, number, number],
): SpanMember {
  const into = mode === "check" ? NOTHING : noted.inner?.[name];
  const glue = Buffer.from(`"${name}":`);
  const { fieldKind, items } = schema;
  const isArray = fieldKind === "array";
  const walkInto = isArray ? WALK.array : WALK.object;
  // A count below zero is warned of wherever it stands.
  const isWalked = column !== 0 || sought !== 0 || slot !== SLOT.unused || fieldKind === "count";
  const kinds = {
    check: CHECKED_KINDS[fieldKind],
    facts: into !== undefined ? walkInto : isWalked ? KINDS[fieldKind] : WALK.skip,
    head: isArray || fieldKind === "object" ? WALK.stop : sought !== 0 ? WALK.text : WALK.skip,
  };
  const object = isArray ? items : schema;
  const hasInner = into !== undefined && object?.properties !== undefined;
  return {
    name,
    quoted: glue.subarray(0, -1),
    glueLength: glue.length,
    ...placeOfWords(glue),
    bit,
    kind: kinds[mode],
    nullable: schema.nullable === true,
    lengthMin: fieldKind === "identity" ? 1 : 0,
    lengthMax: fieldKind === "text" ? TEXT_CHARACTERS_MAX : CODE_CHARACTERS_MAX,
    words: (schema.enum ?? []).map((word) => Buffer.from(`${word}"`)),
    itemsMin: schema.minItems ?? 0,
    column,
    sought,
    slot,
    isContent: noted.notContent?.includes(name) !== true,
    inner: hasInner ? planOf(object, { mode, depth: depth + 1, noted: into }) : undefined,
    items:
      mode === "check" && isArray && !hasInner && items !== undefined
        ? memberOf("", items, { mode, depth: depth + 1, noted: NOTHING }, [0, 0, 0, SLOT.unused])
        : undefined,
    next: undefined,
  };
}

/**
 * The glue of all members, four bytes a number, little endian; the last of a member are its last four, whatever came
 * before. In one array, which compiled code knows where to find.
 */
export const GLUE_WORDS = new Int32Array(16_384);
let wordsMade = 0;

function placeOfWords(glue: Buffer): { readonly wordFirst: number; readonly wordLast: number } {
  if (glue.length < 4) return { wordFirst: 0, wordLast: 0 };
  const wordFirst = wordsMade;
  for (let at = 0; at < glue.length; at += 4) {
    GLUE_WORDS[wordsMade] = glue.readInt32LE(Math.min(at, glue.length - 4));
    wordsMade += 1;
  }
  if (wordsMade > GLUE_WORDS.length) throw new Error("The members' names take more room than there is.");
  return { wordFirst, wordLast: wordsMade - 1 };
}

function plansOf(place: (noted: NotedObject) => Place): Readonly<Record<Resource, SpanPlan>> {
  return {
    inventories: planOf(RECORD_SCHEMAS.inventories, place(NOTED.inventories)),
    reservations: planOf(RECORD_SCHEMAS.reservations, place(NOTED.reservations)),
    groups: planOf(RECORD_SCHEMAS.groups, place(NOTED.groups)),
  };
}

/** The plans of each way to walk. The walks are their only users, and change what they expect to come next. */
export const SPAN_PLANS: Readonly<Record<WalkMode, Readonly<Record<Resource, SpanPlan>>>> = {
  facts: plansOf((noted) => ({ mode: "facts", depth: 0, noted })),
  head: plansOf(({ sought = [], notContent = [] }) => ({
    mode: "head",
    depth: 0,
    noted: { kind: "other", sought: sought.slice(0, SOUGHT.status), notContent },
  })),
  check: plansOf(({ sought = [], notContent = [] }) => ({
    mode: "check",
    depth: 0,
    noted: { kind: "other", sought, notContent },
  })),
};

/** What an unknown member is walked as where it is a number. */
export const UNKNOWN_NUMBER = memberOf(
  "",
  { fieldKind: "decimal", description: "" },
  { mode: "check", depth: 0, noted: NOTHING },
  [0, 0, 0, SLOT.unused],
);

/** Where the spans of the members of SOUGHT begin among the numbers of a record with facts; else they are its first. */
export const SOUGHT_FROM: Readonly<Record<Resource, number>> = {
  inventories: HEAD_NUMBERS + 2 * (NOTED.inventories.columns?.length ?? 0),
  reservations: HEAD_NUMBERS + 2 * (NOTED.reservations.columns?.length ?? 0),
  groups: HEAD_NUMBERS + 2 * (NOTED.groups.columns?.length ?? 0),
};
