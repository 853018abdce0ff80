import { FIELD_KINDS, WALK } from "./field-kinds.ts";
import { byResource, type Resource } from "./resource.ts";
import { CODE_CHARACTERS_MAX, type FieldSchema } from "./schema/field.ts";
import { RECORD_SCHEMAS } from "./schema/record-schemas.ts";
import { type FieldNames, fieldNamesOf } from "./similar-fields.ts";

/** The members of an object whose spans in the record's bytes are kept. Facts, warnings and identity are derived from these spans alone. */
export interface NotedObject {
  /** Facts and their column numbers in the views of migration 0001, unique in the record. A new fact gets the next free number. */
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

/** Order of the identifying members. Inventory has no status. */
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

const ROOM = {
  list: LIST.rooms,
  columns: {
    roomTypeCode: 2,
    roomTypeCapacity: 4,
    roomsNotAvailableMaintenance: 5,
    roomsNotAvailableOther: 6,
    roomsSold: 7,
    transientSold: 8,
    groupSold: 9,
  },
  virtualColumn: 3,
} as const satisfies NotedObject;

const RATE = {
  list: LIST.rates,
  columns: { startDate: 17, endDate: 18, rateValue: 19, grossRateValue: 20 },
  stayColumn: 16,
} as const satisfies NotedObject;
const SERVICE = { list: LIST.services, checked: ["startDate", "endDate"] } as const satisfies NotedObject;
const BUCKET = { list: LIST.childAgeBuckets, checked: ["numberOfChildren"] } as const satisfies NotedObject;

const STAY = {
  list: LIST.stays,
  columns: {
    arrivalDate: 6,
    departureDate: 7,
    roomTypeCode: 8,
    bookedRoomTypeCode: 9,
    marketSegmentCode: 10,
    groupBlockCode: 31,
    sourceBookingCode: 11,
    rateCode: 12,
    currencyCode: 13,
    numberOfAdults: 14,
    numberOfChildren: 15,
  },
  checked: ["numberOfInfants"],
  inner: { rates: RATE, services: SERVICE, childAgeBuckets: BUCKET },
} as const satisfies NotedObject;

const DAY = {
  list: LIST.days,
  columns: {
    occupancyDate: 21,
    netRoomRevenue: 22,
    netFoodRevenue: 23,
    netBeverageRevenue: 24,
    netOtherRevenue: 25,
    netTicketPrice: 26,
    ticketPrice: 27,
    netTotalRevenue: 28,
    grossTotalRevenue: 29,
  },
} as const satisfies NotedObject;

const BLOCK = {
  list: LIST.blocks,
  columns: {
    occupancyDate: 12,
    roomTypeCode: 13,
    blocks: 14,
    pickup: 15,
    originalBlocks: 16,
    singlePersonRate: 17,
    twoPersonRate: 18,
    currencyCode: 19,
  },
  checked: ["singlePersonOccupancy", "twoPersonOccupancy", "threePersonOccupancy", "fourPersonOccupancy"],
} as const satisfies NotedObject;

const GROUP_SERVICE = {
  list: LIST.groupServices,
  checked: ["startDate", "endDate"],
} as const satisfies NotedObject;

const INVENTORY = {
  columns: { occupancyDate: 1 },
  sought: ["clientCode", "propertyCode", "occupancyDate", "createDateTime"],
  notContent: ["createDateTime", "correlationId"],
  inner: { roomTypeInventories: ROOM, virtualRoomTypeInventories: ROOM },
} as const satisfies NotedObject;

const SUMMARY = {
  head: { netTotalTicketRevenue: HEAD.netTotalTicketRevenue, totalTicketRevenue: HEAD.totalTicketRevenue },
} as const satisfies NotedObject;

const RESERVATION = {
  columns: {
    confirmationNumber: 1,
    bookingDateTime: 2,
    cancellationDateTime: 30,
    numberOfRooms: 3,
    multiReservationId: 32,
    shareId: 33,
    channel: 4,
    nationality: 5,
  },
  sought: ["clientCode", "propertyCode", "reservationId", "lastModifiedDateTime", "status"],
  notContent: ["lastModifiedDateTime", "correlationId"],
  inner: { roomStays: STAY, stayRevenue: { inner: { daily: DAY, summary: SUMMARY } } },
} as const satisfies NotedObject;

const GROUP = {
  columns: {
    name: 1,
    masterGroupCode: 2,
    bookingDate: 3,
    startDate: 4,
    endDate: 5,
    cutoffDays: 6,
    cutoffDate: 7,
    groupTypeCode: 8,
    pickupTypeCode: 9,
    marketSegmentCode: 10,
    rateCode: 11,
  },
  sought: ["clientCode", "propertyCode", "groupCode", "lastModifiedDateTime", "groupStatusCode"],
  notContent: ["lastModifiedDateTime", "correlationId"],
  checked: ["cancelDate"],
  inner: { groupBlocks: BLOCK, services: GROUP_SERVICE },
} as const satisfies NotedObject;

export const NOTED: Readonly<Record<Resource, NotedObject>> = {
  inventories: INVENTORY,
  reservations: RESERVATION,
  groups: GROUP,
};

/** The columns of facts by the members of each object. */
export const COLUMNS = {
  room: ROOM.columns,
  roomIsVirtual: ROOM.virtualColumn,
  reservation: RESERVATION.columns,
  stay: STAY.columns,
  rate: RATE.columns,
  rateStay: RATE.stayColumn,
  day: DAY.columns,
  group: GROUP.columns,
  block: BLOCK.columns,
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

type KeptName<Noted extends NotedObject> =
  | keyof Noted["columns"]
  | (Noted["checked"] extends readonly (infer Name)[] ? Name : never);

/** The place of each member's span among the numbers of its object. */
function placesOf<Noted extends NotedObject>(
  front: number,
  noted: Noted,
): Readonly<Record<KeptName<Noted> & string, number>> {
  const places = keptOf(noted).map((name, at) => [name, front + 2 * at]);
  return Object.fromEntries(places) as Record<KeptName<Noted> & string, number>;
}

export const PLACES = {
  inventory: placesOf(HEAD_NUMBERS, INVENTORY),
  room: placesOf(ITEM_NUMBERS, ROOM),
  reservation: placesOf(HEAD_NUMBERS, RESERVATION),
  stay: placesOf(ITEM_NUMBERS, STAY),
  rate: placesOf(ITEM_NUMBERS, RATE),
  service: placesOf(ITEM_NUMBERS, SERVICE),
  bucket: placesOf(ITEM_NUMBERS, BUCKET),
  day: placesOf(ITEM_NUMBERS, DAY),
  group: placesOf(HEAD_NUMBERS, GROUP),
  block: placesOf(ITEM_NUMBERS, BLOCK),
  groupService: placesOf(ITEM_NUMBERS, GROUP_SERVICE),
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

const NO_PLACE = { bit: 0, column: 0, sought: 0, period: 0 };

function memberOf(
  name: string,
  schema: FieldSchema,
  mode: WalkMode,
  noted: NotedObject,
  place: Pick<SpanMember, "bit" | "column" | "sought" | "period">,
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
