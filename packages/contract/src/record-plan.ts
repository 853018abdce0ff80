import { FIELD_KINDS, WALK } from "./field-kinds.ts";
import { byResource, type Resource } from "./resource.ts";
import {
  CODE_CHARACTERS_MAX,
  type FactName,
  type FieldNotes,
  type FieldSchema,
  type KeptName,
  type ObjectField,
} from "./schema/field.ts";
import { RECORD_OBJECTS, RECORD_SCHEMAS } from "./schema/record-schemas.ts";
import { type FieldNames, fieldNamesOf } from "./similar-fields.ts";

/**
 * The members of an object whose spans in the record's bytes are kept, by the notes of its schema. Facts, warnings and identity are derived
 * from these spans alone.
 */
export interface NotedObject {
  /** Facts and their numbers. */
  readonly columns?: Readonly<Record<string, number>>;
  /** Of items: the column with the number of their stay, or with whether their room type is virtual. */
  readonly stayColumn?: number;
  readonly virtualColumn?: number;
  /** Members used only by warnings. */
  readonly checked?: readonly string[];
  /** Of the record itself: identifying members, in the order of SOUGHT. */
  readonly sought?: readonly string[];
  /** Of the record itself: members that are not content. */
  readonly notContent?: readonly string[];
  /** Members whose spans are kept at a fixed place (HEAD). */
  readonly head?: Readonly<Record<string, number>>;
  /** Objects, or arrays of objects, with kept members. */
  readonly inner?: Readonly<Record<string, NotedObject>>;
  /** The list that the items belong to. */
  readonly list?: number;
}

/** Order of the identifying members, which is that of the roles. Inventory has no status. */
export const SOUGHT = { clientCode: 0, propertyCode: 1, key: 2, sourceTime: 3, status: 4 } as const;

/** The lists of a record; `rates`, `services` and `childAgeBuckets` contain those of all stays. */
export const LIST = {
  stays: 0,
  rates: 1,
  days: 2,
  services: 3,
  childAgeBuckets: 4,
  rooms: 0,
  blocks: 0,
  groupServices: 1,
} as const;
export const LISTS = 5;

/** The numbers at the beginning of a record, first the first item of each list (0: none). */
export const HEAD = {
  firstOfList: 0,
  /** Number of room types that are not virtual. */
  regularRooms: LISTS,
  /** Upper bound of the bytes of its facts. */
  factsBytesMax: LISTS + 1,
  /** Spans of members of the summary. */
  netTotalTicketRevenue: LISTS + 2,
  totalTicketRevenue: LISTS + 4,
} as const;
export const HEAD_NUMBERS = LISTS + 6;
/** The numbers at the beginning of an item: the next item of its list, and the place of its stay. */
export const ITEM_NUMBERS = 2;

const ROLES = Object.keys(SOUGHT) as readonly (keyof typeof SOUGHT)[];
const NOT_CONTENT: ReadonlySet<FieldNotes["role"]> = new Set(["sourceTime", "correlationId"]);

/** The list of each object that is an item with kept members. */
const LIST_OF: ReadonlyMap<FieldSchema, number> = new Map<FieldSchema, number>([
  [RECORD_OBJECTS.room, LIST.rooms],
  [RECORD_OBJECTS.stay, LIST.stays],
  [RECORD_OBJECTS.rate, LIST.rates],
  [RECORD_OBJECTS.day, LIST.days],
  [RECORD_OBJECTS.service, LIST.services],
  [RECORD_OBJECTS.bucket, LIST.childAgeBuckets],
  [RECORD_OBJECTS.block, LIST.blocks],
  [RECORD_OBJECTS.groupService, LIST.groupServices],
]);

/** The numbers of an object's facts by their members. */
function factsIn<Schema extends ObjectField>({
  properties,
}: Schema): Readonly<Record<FactName<Schema>, number>> {
  const facts = Object.entries(properties).flatMap(([name, { notes }]) =>
    notes.fact === undefined ? [] : [[name, notes.fact]],
  );
  return Object.fromEntries(facts) as Record<FactName<Schema>, number>;
}

/** Members that warnings read and that are kept for nothing else. */
function checkedIn(properties: Readonly<Record<string, FieldSchema>>): readonly string[] {
  return Object.keys(properties).filter((name) => {
    const { checked, fact, role } = properties[name]?.notes ?? {};
    return checked === true && fact === undefined && role === undefined;
  });
}

function notedItem(schema: ObjectField): NotedObject | undefined {
  const noted = notedMembers(schema);
  const { stayFact, virtualFact } = schema.itemNotes ?? {};
  if (noted === undefined) return undefined;
  const list = LIST_OF.get(schema);
  if (list === undefined)
    throw new Error(`"${schema.description}" has kept members: give its list a number (LIST, LIST_OF).`);
  return {
    ...noted,
    list,
    ...(stayFact === undefined ? {} : { stayColumn: stayFact }),
    ...(virtualFact === undefined ? {} : { virtualColumn: virtualFact }),
  };
}

/** An object that is neither a record nor an item: what is kept of it has a fixed place. */
function notedPart(schema: ObjectField): NotedObject | undefined {
  const { columns, checked = [], ...noted } = notedMembers(schema) ?? {};
  if (Object.keys(columns ?? {}).length > 0)
    throw new Error(`"${schema.description}" has facts: only records and the items of lists can have some.`);
  const head = Object.fromEntries(checked.map((name) => [name, HEAD[name as keyof typeof HEAD]]));
  if (Object.values(head).includes(undefined as never))
    throw new Error(`Give the checked members of "${schema.description}" a place in HEAD.`);
  return checked.length === 0 && noted.inner === undefined ? undefined : { ...noted, head };
}

/** Undefined: nothing of it is kept. */
function notedMembers(schema: ObjectField): NotedObject | undefined {
  const inner = Object.entries<FieldSchema>(schema.properties).flatMap(([name, field]) => {
    const isItem = field.items?.properties !== undefined;
    if (!isItem && field.properties === undefined) return [];
    const noted = isItem ? notedItem(field.items as ObjectField) : notedPart(field as ObjectField);
    return noted === undefined ? [] : [[name, noted] as const];
  });
  const columns = factsIn(schema);
  const checked = checkedIn(schema.properties);
  if (inner.length + checked.length + Object.keys(columns).length === 0) return undefined;
  return { columns, checked, ...(inner.length === 0 ? {} : { inner: Object.fromEntries(inner) }) };
}

/** The name of the member that has a role in a resource's records; "" if none has. */
function memberOfRole(resource: Resource, role: FieldNotes["role"]): string {
  const { properties = {} } = RECORD_SCHEMAS[resource];
  return Object.keys(properties).find((name) => properties[name]?.notes?.role === role) ?? "";
}

export const NOTED: Readonly<Record<Resource, NotedObject>> = byResource((resource) => {
  const schema = RECORD_SCHEMAS[resource] as ObjectField;
  const { properties } = schema;
  return {
    ...notedMembers(schema),
    sought: ROLES.map((role) => memberOfRole(resource, role)).filter((name) => name !== ""),
    notContent: Object.keys(properties).filter((name) => NOT_CONTENT.has(properties[name]?.notes.role)),
  };
});

/** The numbers of facts by the members of each object. */
export const COLUMNS = {
  room: factsIn(RECORD_OBJECTS.room),
  reservation: factsIn(RECORD_OBJECTS.reservation),
  stay: factsIn(RECORD_OBJECTS.stay),
  rate: factsIn(RECORD_OBJECTS.rate),
  day: factsIn(RECORD_OBJECTS.day),
  group: factsIn(RECORD_OBJECTS.group),
  block: factsIn(RECORD_OBJECTS.block),
  roomIsVirtual: RECORD_OBJECTS.room.itemNotes?.virtualFact as number,
} as const;

/** Used as a list: a fact of the record itself. */
export const OF_RECORD = -1;
/** Used as places: the number of the item's stay, or whether its room type is virtual. */
export const STAY_PLACE = -1;
export const IS_VIRTUAL = -2;

/** The source of a fact: a list (or OF_RECORD) and the place of the span within its items (or the record). */
export interface FactSource {
  readonly list: number;
  readonly place: number;
}

function addSources(noted: NotedObject, front: number, to: FactSource[]): FactSource[] {
  const { columns = {}, list = OF_RECORD, stayColumn, virtualColumn, inner = {} } = noted;
  for (const [at, column] of Object.values(columns).entries()) {
    const place = front + 2 * at;
    const other = to[column];
    if (other !== undefined && (other.list !== list || other.place !== place))
      throw new Error(`Two facts have the number ${column}.`);
    to[column] = { list, place };
  }
  if (stayColumn !== undefined) to[stayColumn] = { list, place: STAY_PLACE };
  if (virtualColumn !== undefined) to[virtualColumn] = { list, place: IS_VIRTUAL };
  for (const within of Object.values(inner)) addSources(within, ITEM_NUMBERS, to);
  return to;
}

/** By resource and column; there is no column 0. */
export const FACT_SOURCES = byResource((resource): readonly FactSource[] =>
  addSources(NOTED[resource], HEAD_NUMBERS, []),
);

/** The kept members of an object in the order of their places; those of SOUGHT follow. */
export function keptOf({ columns = {}, checked = [] }: NotedObject): readonly string[] {
  return [...Object.keys(columns), ...checked];
}

/** The place of the first SOUGHT member in a record with facts. */
export const SOUGHT_FROM = byResource((resource) => HEAD_NUMBERS + 2 * keptOf(NOTED[resource]).length);

/** The place of each kept member's span among the numbers of its object. */
function placesOf<Schema extends ObjectField>(
  front: number,
  schema: Schema,
): Readonly<Record<KeptName<Schema>, number>> {
  const names = [...Object.keys(factsIn(schema)), ...checkedIn(schema.properties)];
  return Object.fromEntries(names.map((name, at) => [name, front + 2 * at])) as Record<
    KeptName<Schema>,
    number
  >;
}

export const PLACES = {
  inventory: placesOf(HEAD_NUMBERS, RECORD_OBJECTS.inventory),
  room: placesOf(ITEM_NUMBERS, RECORD_OBJECTS.room),
  reservation: placesOf(HEAD_NUMBERS, RECORD_OBJECTS.reservation),
  stay: placesOf(ITEM_NUMBERS, RECORD_OBJECTS.stay),
  rate: placesOf(ITEM_NUMBERS, RECORD_OBJECTS.rate),
  service: placesOf(ITEM_NUMBERS, RECORD_OBJECTS.service),
  bucket: placesOf(ITEM_NUMBERS, RECORD_OBJECTS.bucket),
  day: placesOf(ITEM_NUMBERS, RECORD_OBJECTS.day),
  group: placesOf(HEAD_NUMBERS, RECORD_OBJECTS.group),
  block: placesOf(ITEM_NUMBERS, RECORD_OBJECTS.block),
  groupService: placesOf(ITEM_NUMBERS, RECORD_OBJECTS.groupService),
} as const;

/** A member of an object or, without a name, the items of an array that are not objects. */
export interface SpanMember {
  readonly name: string;
  /** Length of the glue: the quoted name and the colon. */
  readonly glueLength: number;
  /** The quoted name. */
  readonly quoted: Uint8Array;
  /** Indexes of the first and last word of the glue in GLUE_WORDS. */
  readonly wordFirst: number;
  readonly wordLast: number;
  /** Bit of this member within its object. */
  readonly bit: number;
  /** One of WALK. */
  readonly kind: number;
  readonly nullable: boolean;
  /** Whether the member may be omitted; false for the items of an array. */
  readonly optional: boolean;
  /** Length of a string in characters. */
  readonly lengthMin: number;
  readonly lengthMax: number;
  readonly itemsMin: number;
  /** Places of its span among the numbers of its object, and of the record; 0: not kept. */
  readonly column: number;
  readonly sought: number;
  /** In a check: 1 for the first date of a period, 2 for the last. */
  readonly period: number;
  readonly isContent: boolean;
  /** The plan of an object, or of the items of an array. */
  readonly inner: SpanPlan | undefined;
  readonly items: SpanMember | undefined;
  /** The member that last followed it, tried first. */
  next: SpanMember | undefined;
}

/** `check`: validate a record. `facts`: find the spans of a valid record. `head`: find its identity, up to the first nested member. */
type WalkMode = "check" | "facts" | "head";

/** The plan for one type of object. */
export interface SpanPlan {
  readonly mode: WalkMode;
  readonly members: readonly SpanMember[];
  /** For facts: compares unknown names with the members'. */
  readonly names: FieldNames;
  /** Bits of the required members. */
  readonly requiredBits: number;
  /** Of a head: bits of the members that complete it. */
  readonly enoughBits: number;
  /** The list of the item, or OF_RECORD. */
  readonly list: number;
  /** Numbers kept per object. */
  readonly numbers: number;
  /** The first member of the last object, tried first. */
  first: SpanMember | undefined;
}

const NOTHING: NotedObject = {};
const MEMBERS_MAX = 30;
const NEVER_ENOUGH = 1 << MEMBERS_MAX;

function planOf(schema: FieldSchema, mode: WalkMode, noted: NotedObject, front: number): SpanPlan {
  const { sought = [], head = {} } = noted;
  const kept = keptOf(noted);
  const placeIn = (names: readonly string[], name: string, from: number) =>
    names.includes(name) ? from + 2 * names.indexOf(name) : 0;
  const members = Object.entries(schema.properties ?? {}).map(([name, field], at) =>
    memberOf(name, field, mode, noted, {
      bit: 1 << at,
      column: placeIn(kept, name, front),
      sought: head[name] ?? placeIn(sought, name, front + 2 * kept.length),
      period: mode === "check" ? (schema.period?.indexOf(name) ?? -1) + 1 : 0,
      optional: schema.required?.includes(name) !== true,
    }),
  );
  if (members.length > MEMBERS_MAX) throw new Error("An object has more members than a number has bits.");
  members.forEach((member, at) => {
    member.next = members[at + 1];
  });
  const bitsOf = (names: readonly string[] = []) =>
    members.reduce((bits, { name, bit }) => (names.includes(name) ? bits | bit : bits), 0);
  return {
    mode,
    members,
    names: fieldNamesOf(schema),
    requiredBits: bitsOf(mode === "head" ? sought : schema.required),
    enoughBits: mode === "head" ? bitsOf([...sought, ...(noted.notContent ?? [])]) : NEVER_ENOUGH,
    list: noted.list ?? OF_RECORD,
    numbers: front + 2 * (kept.length + sought.length),
    first: members[0],
  };
}

/** Objects without kept members are walked for facts too, because their names are compared with the contract's. */
function nothingOf(mode: WalkMode, object: FieldSchema | undefined): NotedObject | undefined {
  return mode === "facts" && object?.properties !== undefined ? NOTHING : undefined;
}

const NO_PLACE = { bit: 0, column: 0, sought: 0, period: 0, optional: false };

function memberOf(
  name: string,
  schema: FieldSchema,
  mode: WalkMode,
  noted: NotedObject,
  place: Pick<SpanMember, "bit" | "column" | "sought" | "period" | "optional">,
): SpanMember {
  const { fieldKind, items } = schema;
  const isArray = fieldKind === "array";
  const object = isArray ? items : schema;
  const into = mode === "check" ? NOTHING : (noted.inner?.[name] ?? nothingOf(mode, object));
  const glue = Buffer.from(`"${name}":`);
  const nests = isArray || fieldKind === "object";
  const isKept = nests ? into !== undefined : place.column !== 0 || place.sought !== 0;
  const kinds = {
    check: WALK[FIELD_KINDS[fieldKind].walk[0]],
    facts: isKept ? WALK[FIELD_KINDS[fieldKind].walk[1]] : WALK.skip,
    head: nests ? WALK.stop : place.sought !== 0 ? WALK.text : WALK.skip,
  };
  const hasInner = into !== undefined && object?.properties !== undefined;
  return {
    name,
    quoted: glue.subarray(0, -1),
    glueLength: glue.length,
    ...placeOfWords(glue),
    ...place,
    kind: kinds[mode],
    nullable: schema.nullable === true,
    lengthMin: schema.minLength ?? 0,
    lengthMax: schema.maxLength ?? CODE_CHARACTERS_MAX,
    itemsMin: schema.minItems ?? 0,
    isContent: noted.notContent?.includes(name) !== true,
    inner: hasInner ? planOf(object, mode, into, ITEM_NUMBERS) : undefined,
    items:
      mode === "check" && isArray && !hasInner && items !== undefined
        ? memberOf("", items, mode, NOTHING, NO_PLACE)
        : undefined,
    next: undefined,
  };
}

/** The glue of all members as little-endian words; the last word of a member is its last four bytes. One array for fast access. */
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

function plansOf(mode: WalkMode, notedOf: (noted: NotedObject) => NotedObject) {
  return byResource((resource) =>
    planOf(RECORD_SCHEMAS[resource], mode, notedOf(NOTED[resource]), HEAD_NUMBERS),
  );
}

/** The plans by mode and resource. Walks update `next` and `first`. */
export const SPAN_PLANS: Readonly<Record<WalkMode, Readonly<Record<Resource, SpanPlan>>>> = {
  facts: plansOf("facts", (noted) => noted),
  head: plansOf("head", ({ sought = [], notContent = [] }) => ({
    sought: sought.slice(0, SOUGHT.status),
    notContent,
  })),
  check: plansOf("check", ({ sought = [], notContent = [] }) => ({ sought, notContent })),
};

/** The plan for members that the contract does not name. */
export const UNKNOWN_OBJECT = planOf(
  { fieldKind: "object", description: "" },
  "check",
  NOTHING,
  ITEM_NUMBERS,
);
export const UNKNOWN_LIST: SpanMember = {
  ...memberOf("", { fieldKind: "array", description: "" }, "check", NOTHING, NO_PLACE),
  items: {
    ...memberOf("", { fieldKind: "decimal", description: "" }, "check", NOTHING, NO_PLACE),
    kind: WALK.unknown,
  },
};
