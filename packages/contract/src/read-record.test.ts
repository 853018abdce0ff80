import assert from "node:assert/strict";
import test from "node:test";
import { factColumns, factsText, parsedFacts, readFacts } from "../../../test/contract/facts.ts";
import { changed, fullRecord, leastRecord, recordOf, recordsOf } from "../../../test/contract/records.ts";
import { checkRecord } from "./check-record.ts";
import { UnstorableFact } from "./parsed-spans.ts";
import { readRecord } from "./read-record.ts";
import { COLUMNS, FACT_SOURCES } from "./record-plan.ts";
import { RESOURCES, type Resource } from "./resource.ts";
import type { FieldSchema } from "./schema/field.ts";
import { FIELD_NAMES, RECORD_SCHEMAS } from "./schema/record-schemas.ts";
import { WARNING_CODES } from "./warnings.ts";

/** A reading with its content beside it. */
const readWhole = (resource: Resource, bytes: Buffer) => {
  const reading = readRecord(resource, bytes);
  return { ...reading, ...reading.content() };
};
const read = (resource: Resource, value: unknown) => {
  assert.equal(checkRecord(resource, recordOf(value), 100).total, 0, "the test's record is valid");
  return readWhole(resource, Buffer.from(JSON.stringify(value)));
};
const factsOf = (resource: Resource, value: unknown) =>
  readFacts(resource, factsText(read(resource, value).facts));
const warned = (resource: Resource, value: unknown) =>
  read(resource, value)
    .warnings.list()
    .map(({ pointer, code }) => `${pointer} ${code}`);

const IS_OF_TYPE: Record<string, (value: unknown) => boolean> = {
  text: (value) => typeof value === "string",
  boolean: (value) => value === "t" || value === "f",
  integer: (value) => typeof value === "string" && /^-?\d+$/.test(value),
  numeric: (value) => typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value),
  date: (value) => typeof value === "string" && /^\d{4}-\d\d-\d\d$/.test(value),
  timestamptz: (value) =>
    typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(value),
};

test("the facts match the views in order and type", () => {
  for (const resource of RESOURCES) {
    for (const record of [fullRecord(resource), leastRecord(resource)]) {
      const facts = factsOf(resource, record);
      for (const { name, type } of factColumns(resource)) {
        const value = facts[name];
        assert.ok(value === null || Array.isArray(value) === type.endsWith("[]"), name);
        for (const one of [value].flat())
          assert.ok(one === null || IS_OF_TYPE[type.replace("[]", "")]!(one), `${name}: ${one}`);
      }
    }
    for (const [name, value] of Object.entries(factsOf(resource, fullRecord(resource))))
      assert.ok(![value].flat().includes(null) && [value].flat().length > 0, `${name} of a full record`);
  }
});

/** Facts that views and records name otherwise. */
const NAMED_OTHERWISE: Readonly<Record<string, string>> = {
  bookingDateTime: "booking_time",
  cancellationDateTime: "cancellation_time",
  "rate.startDate": "rate_start_date",
  "rate.endDate": "rate_end_date",
  "day.occupancyDate": "revenue_date",
};

test("each fact has one place, the same to views as to their writer", () => {
  const ofResource: Readonly<Record<Resource, Readonly<Record<string, Readonly<Record<string, number>>>>>> = {
    inventories: { room: COLUMNS.room },
    reservations: { record: COLUMNS.reservation, stay: COLUMNS.stay, rate: COLUMNS.rate, day: COLUMNS.day },
    groups: { record: COLUMNS.group, block: COLUMNS.block },
  };
  const alone = {
    inventories: { occupancy_date: 1, is_virtual: COLUMNS.roomIsVirtual },
    reservations: { rate_stay_index: 16 },
    groups: {},
  };
  for (const resource of RESOURCES) {
    const views = factColumns(resource);
    const written = Object.entries(ofResource[resource]).flatMap(([object, columns]) =>
      Object.entries(columns).map(([member, place]): [string, number] => [
        NAMED_OTHERWISE[`${object}.${member}`] ??
          NAMED_OTHERWISE[member] ??
          member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        place,
      ]),
    );
    assert.deepEqual(
      Object.fromEntries(views.map(({ name, place }) => [name, place])),
      Object.fromEntries([...written, ...Object.entries(alone[resource])]),
    );
    const places = views.map(({ place }) => place).sort((one, other) => one - other);
    assert.deepEqual(places, [...Object.keys(FACT_SOURCES[resource])].map(Number));
    assert.deepEqual(
      places,
      Array.from(places, (_, at) => at + 1),
    );
  }
});

test("facts that could not be read again are not written", () => {
  const bytes = (from: string, to: string) =>
    Buffer.from(JSON.stringify(fullRecord("reservations")).replaceAll(from, to));
  for (const [from, to] of [
    ["2026-07-16", "2026-02-30"],
    ["2026-02-20T10:15:00Z", "2026-02-20 10:15"],
    ['"numberOfRooms":1', '"numberOfRooms":2147483648'],
    ['"netRoomRevenue":"180.00"', '"netRoomRevenue":"NaN"'],
  ] as const) {
    assert.throws(() => factsText(readWhole("reservations", bytes(from, to)).facts), UnstorableFact, to);
  }
});

test("text facts are verbatim, whatever characters they contain", () => {
  for (const text of [
    '"',
    "\\",
    'a "b" \\ c',
    "{a,b}",
    "(x)",
    "NULL",
    "null",
    " a ",
    "Zoë",
    "x\ny",
    '\\"',
    "🏨",
  ]) {
    const least: Record<string, unknown> = { ...leastRecord("reservations"), channel: text };
    const two = [
      { ...(least["roomStays"] as object[])[0], rateCode: text },
      (least["roomStays"] as object[])[0],
    ];
    for (const roomStays of [two.slice(0, 1), two]) {
      const facts = factsOf("reservations", { ...least, roomStays });
      assert.equal(facts["channel"], text);
      assert.deepEqual(facts["rate_code"], roomStays.length === 1 ? [text] : [text, null]);
    }
  }
});

/** Every string field of an object and of the objects within it, with its pointer in the full record. */
function stringFields({ properties = {}, items }: FieldSchema, pointer = ""): [string, FieldSchema][] {
  if (items !== undefined) return stringFields(items, `${pointer}/0`);
  return Object.entries(properties).flatMap(([name, field]): [string, FieldSchema][] =>
    ["text", "code", "currency"].includes(field.fieldKind)
      ? [[`${pointer}/${name}`, field]]
      : stringFields(field, `${pointer}/${name}`),
  );
}

test("a blank value of an optional string is read as absent, in every such field", () => {
  for (const resource of RESOURCES) {
    const fields = stringFields(RECORD_SCHEMAS[resource]);
    assert.ok(fields.length > 0);
    for (const [pointer] of fields) {
      const without = factsText(read(resource, changed(fullRecord(resource), pointer, undefined)).facts);
      for (const blank of ["", " ", "   ", "\t", "\n \r", "\u00a0", "\u3000 ", "\ufeff"]) {
        const record = changed(fullRecord(resource), pointer, blank);
        assert.equal(factsText(read(resource, record).facts), without, `${pointer} ${JSON.stringify(blank)}`);
        assert.equal(parsedFacts(resource, record as object), without, pointer);
      }
    }
  }
  const zero = changed(fullRecord("reservations"), "/shareId", "\u200b");
  assert.equal(factsOf("reservations", zero)["share_id"], "\u200b", "no white space");
  assert.equal(factsOf("reservations", changed(zero, "/shareId", "Ö 1"))["share_id"], "Ö 1");
});

test("a currency is read in any case, with white space around it; what ISO 4217 does not have is a warning", () => {
  for (const [resource, pointer] of [
    ["reservations", "/roomStays/0/currencyCode"],
    ["groups", "/groupBlocks/0/currencyCode"],
  ] as const) {
    for (const [sent, fact, codes] of [
      ["EUR", "EUR", []],
      ["eur", "EUR", []],
      ["EUR ", "EUR", []],
      ["\tjpy\n", "JPY", []],
      ["HRK", "HRK", []],
      ["", null, []],
      [" ", null, []],
      ["€", "€", [`${pointer} currency.unknown`]],
      ["Euro", "EURO", [`${pointer} currency.unknown`]],
      ["ZZZ", "ZZZ", [`${pointer} currency.unknown`]],
      ["978", "978", [`${pointer} currency.unknown`]],
    ] as const) {
      const record = changed(fullRecord(resource), pointer, sent);
      const read = factsOf(resource, record)["currency_code"];
      assert.deepEqual(read, fact === null ? null : [fact], sent);
      assert.deepEqual(warned(resource, record), codes, sent);
    }
  }
});

/** A valid value of a schema with 100 items in one list and one in each other; without a text, what holds one value is left out where it may be. */
function filled(schema: FieldSchema, longList: string, text: string | undefined): unknown {
  const { fieldKind, properties = {}, example } = schema;
  if (schema.items !== undefined) return [filled(schema.items, longList, text)];
  if (fieldKind === "object")
    return Object.fromEntries(
      Object.entries(properties)
        .filter(([, { fieldKind: kind, optional }]) => {
          return text !== undefined || optional !== true || kind === "array" || kind === "object";
        })
        .map(([name, member]) => {
          const value = filled(member, longList, text);
          return [name, name === longList && Array.isArray(value) ? Array(100).fill(value[0]) : value];
        }),
    );
  return ["code", "identity", "currency"].includes(fieldKind) && text !== undefined ? text : example;
}

test("facts stay within the reserved size, whatever is omitted, quoted or escaped", () => {
  for (const resource of RESOURCES) {
    for (const longList of FIELD_NAMES[resource]) {
      for (const text of [undefined, "NULL", " ".repeat(128), '"'.repeat(128), "\\".repeat(128)]) {
        const record = filled(RECORD_SCHEMAS[resource], longList, text) as object;
        // Throws where they take more: those of a record that was walked over, and of the same one parsed.
        assert.equal(factsText(read(resource, record).facts), parsedFacts(resource, record));
      }
    }
  }
});

test("identity, source time, status and dates come from the fields of the contract", () => {
  const inventory = read("inventories", fullRecord("inventories"));
  assert.deepEqual(
    [
      inventory.clientCode,
      inventory.propertyCode,
      inventory.key,
      inventory.sourceTime,
      inventory.status,
      inventory.fromDate,
      inventory.toDate,
    ],
    ["ACME", "PARIS01", "2026-07-14", "2026-03-01T08:30:00.000000Z", null, "2026-07-14", "2026-07-14"],
  );
  const stay = leastRecord("reservations")["roomStays"] as object[];
  const stays = [
    { ...stay[0], arrivalDate: "2026-07-16", departureDate: "2026-07-20", roomTypeCode: "B" },
    { ...stay[0], arrivalDate: "2026-07-14", departureDate: "2026-07-16", roomTypeCode: "A" },
    { ...stay[0], arrivalDate: "2026-07-15", departureDate: "2026-07-15", roomTypeCode: "B" },
  ];
  const reservation = read("reservations", { ...leastRecord("reservations"), roomStays: stays });
  assert.deepEqual(
    [
      reservation.key,
      reservation.status,
      reservation.fromDate,
      reservation.toDate,
      reservation.roomTypeCodes,
    ],
    ["R-48213", "CONFIRMED", "2026-07-14", "2026-07-20", ["B", "A"]],
  );
  const group = read("groups", fullRecord("groups"));
  assert.deepEqual(
    [group.key, group.status, group.fromDate, group.toDate],
    ["CONF26", "DEFINITE", "2026-09-10", "2026-09-12"],
  );
  assert.equal(
    read("groups", changed(fullRecord("groups"), "/lastModifiedDateTime", "2026-03-01T08:30:00.1Z"))
      .sourceTime,
    "2026-03-01T08:30:00.100000Z",
  );
});

test("times that differ beyond the microsecond are one source time, and none is rounded up", () => {
  for (const resource of RESOURCES) {
    const field = resource === "inventories" ? "/createDateTime" : "/lastModifiedDateTime";
    const timeOf = (time: string) => read(resource, changed(fullRecord(resource), field, time)).sourceTime;
    for (const time of [
      "2026-02-28T23:59:59.999999999Z",
      "2026-02-28T23:59:59.9999990Z",
      "2026-02-28T23:59:59.999999Z",
    ])
      assert.equal(timeOf(time), "2026-02-28T23:59:59.999999Z", time);
    assert.equal(timeOf("2026-02-28T23:59Z"), "2026-02-28T23:59:00.000000Z");
  }
});

test("virtual room types follow the others and are marked", () => {
  const record = changed(fullRecord("inventories"), "/virtualRoomTypeInventories/0/roomTypeCode", "SUITE");
  const { roomTypeCodes } = read("inventories", record);
  const facts = factsOf("inventories", record);
  assert.deepEqual(facts["room_type_code"], ["DLX", "SUITE"]);
  assert.deepEqual(facts["is_virtual"], ["f", "t"]);
  assert.deepEqual(roomTypeCodes, ["DLX", "SUITE"]);
});

test("each rate names the stay it belongs to", () => {
  const stay = (fullRecord("reservations")["roomStays"] as Record<string, unknown>[])[0]!;
  const rate = (stay["rates"] as object[])[0];
  const facts = factsOf(
    "reservations",
    changed(fullRecord("reservations"), "/roomStays", [
      { ...stay, rates: [rate, rate] },
      { ...stay, rates: undefined },
      { ...stay, rates: [rate] },
    ]),
  );
  assert.deepEqual(facts["rate_stay_index"], ["0", "0", "2"]);
  assert.deepEqual(facts["rate_value"], ["180.00", "180.00", "180.00"]);
});

test("decimals are kept exactly as sent, as text or as a long JSON number", () => {
  const record = changed(fullRecord("groups"), "/groupBlocks/0/singlePersonRate", "L");
  const rate = (literal: string) =>
    readFacts(
      "groups",
      factsText(readWhole("groups", Buffer.from(JSON.stringify(record).replace('"L"', literal))).facts),
    )["single_person_rate"];
  assert.deepEqual(rate("0.12345678901234567890123456789"), ["0.12345678901234567890123456789"]);
  assert.deepEqual(rate("1.5e3"), ["1500"]);
  assert.deepEqual(rate("0.1"), ["0.1"]);
  assert.deepEqual(rate('"180.10"'), ["180.10"]);
  assert.deepEqual(rate('"12345678901234567890.12345678"'), ["12345678901234567890.12345678"]);
  assert.deepEqual(rate("0.0000001"), ["0.0000001"]);
});

test("whole numbers are written as such, however they were sent", () => {
  for (const [sent, fact] of [
    ["2", "2"],
    [2, "2"],
    ["1.0", "1"],
    ["-3", "-3"],
    ["0000000000000012", "12"],
  ] as const) {
    assert.deepEqual(
      factsOf("groups", changed(fullRecord("groups"), "/groupBlocks/0/blocks", sent))["blocks"],
      [fact],
    );
  }
  assert.equal(factsOf("groups", changed(fullRecord("groups"), "/cutoffDays", "30"))["cutoff_days"], "30");
});

test("records that are in order have no warnings", () => {
  assert.deepEqual(
    warned(
      "inventories",
      changed(fullRecord("inventories"), "/virtualRoomTypeInventories/0/roomTypeCode", "SUITE"),
    ),
    [],
  );
  assert.deepEqual(warned("reservations", fullRecord("reservations")), []);
  assert.deepEqual(warned("groups", fullRecord("groups")), []);
  for (const resource of RESOURCES) assert.deepEqual(warned(resource, leastRecord(resource)), []);
});

test("an inventory is warned about when it is oversold, split wrongly or names a room type twice", () => {
  const inventory = leastRecord("inventories");
  const room = (fields: object) =>
    warned("inventories", {
      ...inventory,
      roomTypeInventories: [{ roomTypeCode: "A", roomTypeCapacity: 10, roomsSold: 10, ...fields }],
    });
  assert.deepEqual(room({}), []);
  assert.deepEqual(room({ roomsSold: "11" }), ["/roomTypeInventories/0/roomsSold inventory.oversold"]);
  assert.deepEqual(room({ roomsNotAvailableMaintenance: 1 }), [
    "/roomTypeInventories/0/roomsSold inventory.oversold",
  ]);
  assert.deepEqual(room({ roomsSold: 8, roomsNotAvailableMaintenance: 1, roomsNotAvailableOther: "1" }), []);
  assert.deepEqual(room({ transientSold: 4, groupSold: 5 }), [
    "/roomTypeInventories/0/roomsSold inventory.sold-split",
  ]);
  assert.deepEqual(room({ transientSold: 4, groupSold: 6 }), []);
  assert.deepEqual(room({ transientSold: 4 }), []);
  assert.deepEqual(warned("inventories", fullRecord("inventories")), [
    "/virtualRoomTypeInventories/0/roomTypeCode inventory.room-type-repeated",
  ]);
});

test("negative counts are warned about and accepted", () => {
  assert.deepEqual(
    warned("inventories", changed(leastRecord("inventories"), "/roomTypeInventories/0/roomsSold", -1)),
    ["/roomTypeInventories/0/roomsSold count.negative"],
  );
  assert.deepEqual(warned("groups", changed(fullRecord("groups"), "/groupBlocks/0/originalBlocks", "-2")), [
    "/groupBlocks/0/originalBlocks count.negative",
  ]);
  assert.deepEqual(warned("groups", changed(fullRecord("groups"), "/cutoffDays", -2)), []);
  assert.deepEqual(
    warned(
      "reservations",
      changed(fullRecord("reservations"), "/roomStays/0/childAgeBuckets/0/numberOfChildren", -2),
    ),
    ["/roomStays/0/childAgeBuckets/0/numberOfChildren count.negative"],
  );
  assert.deepEqual(warned("reservations", changed(fullRecord("reservations"), "/numberOfRooms", -2)), [
    "/numberOfRooms count.negative",
  ]);
});

test("a group is warned about when more is picked up than blocked, or a block lies outside its dates", () => {
  assert.deepEqual(warned("groups", changed(fullRecord("groups"), "/groupBlocks/0/pickup", 21)), [
    "/groupBlocks/0/pickup group.pickup-above-blocks",
  ]);
  for (const [date, codes] of [
    ["2026-09-09", ["/groupBlocks/0/occupancyDate group.outside-dates"]],
    ["2026-09-10", []],
    ["2026-09-12", []],
    ["2026-09-13", ["/groupBlocks/0/occupancyDate group.outside-dates"]],
  ] as const) {
    assert.deepEqual(
      warned("groups", changed(fullRecord("groups"), "/groupBlocks/0/occupancyDate", date)),
      codes,
    );
  }
});

test("a reservation is warned about when its revenue does not add up", () => {
  const day = (fields: object) => {
    const record = changed(leastRecord("reservations"), "/stayRevenue", {
      daily: [{ occupancyDate: "2026-07-14", ...fields }],
    });
    return warned("reservations", record);
  };
  assert.deepEqual(day({ netRoomRevenue: "0.1", netFoodRevenue: 0.2, netTotalRevenue: "0.3" }), []);
  assert.deepEqual(
    day({ netRoomRevenue: "0.1", netFoodRevenue: 0.2, netTotalRevenue: "0.30000000000000004" }),
    ["/stayRevenue/daily/0/netTotalRevenue reservation.revenue-total"],
  );
  assert.deepEqual(day({ netRoomRevenue: "100", netTotalRevenue: "100.00" }), []);
  assert.deepEqual(day({ netTotalRevenue: "5" }), []);
  assert.deepEqual(day({ netRoomRevenue: "5" }), []);
  const summary = (daily: object[], fields: object) => {
    const days = daily.map((one) => ({ occupancyDate: "2026-07-14", ...one }));
    return warned(
      "reservations",
      changed(leastRecord("reservations"), "/stayRevenue", { daily: days, summary: fields }),
    );
  };
  const prices = [{ netTicketPrice: "1.10" }, { netTicketPrice: "2.20" }];
  assert.deepEqual(summary(prices, { netTotalTicketRevenue: "3.3" }), []);
  assert.deepEqual(summary(prices, { netTotalTicketRevenue: "3.31" }), [
    "/stayRevenue/summary/netTotalTicketRevenue reservation.revenue-summary",
  ]);
  assert.deepEqual(summary([...prices, {}], { netTotalTicketRevenue: "9" }), []);
  assert.deepEqual(summary([{ ticketPrice: 2 }], { totalTicketRevenue: 3 }), [
    "/stayRevenue/summary/totalTicketRevenue reservation.revenue-summary",
  ]);
});

test("dates outside the stay are warned about; the day of departure is within it", () => {
  const reservation = fullRecord("reservations");
  const at = (pointer: string, date: string) => warned("reservations", changed(reservation, pointer, date));
  assert.deepEqual(at("/stayRevenue/daily/0/occupancyDate", "2026-07-17"), []);
  for (const date of ["2026-07-13", "2026-07-18"])
    assert.deepEqual(at("/stayRevenue/daily/0/occupancyDate", date), [
      "/stayRevenue/daily/0/occupancyDate reservation.outside-stay",
    ]);
  assert.deepEqual(at("/roomStays/0/rates/0/startDate", "2026-07-13"), [
    "/roomStays/0/rates/0/startDate reservation.outside-stay",
  ]);
  assert.deepEqual(at("/roomStays/0/services/0/endDate", "2026-07-18"), [
    "/roomStays/0/services/0/endDate reservation.outside-stay",
  ]);
  const stay = (leastRecord("reservations")["roomStays"] as object[])[0];
  const gap = {
    ...leastRecord("reservations"),
    roomStays: [
      { ...stay, arrivalDate: "2026-07-20", departureDate: "2026-07-22" },
      { ...stay, arrivalDate: "2026-07-10", departureDate: "2026-07-12" },
    ],
  };
  for (const [date, count] of [
    ["2026-07-09", 1],
    ["2026-07-10", 0],
    ["2026-07-12", 0],
    ["2026-07-15", 1],
    ["2026-07-21", 0],
    ["2026-07-23", 1],
  ] as const) {
    assert.equal(
      warned("reservations", { ...gap, stayRevenue: { daily: [{ occupancyDate: date }] } }).length,
      count,
      date,
    );
  }
});

test("room stays that share a night are warned about once, in any order; day use and moves are not", () => {
  const overlapping = (...stays: [arrivalDate: string, departureDate: string][]) => {
    const roomStays = stays.map(([arrivalDate, departureDate]) => {
      return { ...(leastRecord("reservations")["roomStays"] as object[])[0], arrivalDate, departureDate };
    });
    return warned("reservations", { ...leastRecord("reservations"), roomStays });
  };
  const warning = (stay: number) => [`/roomStays/${stay} reservation.overlapping-stays`];
  assert.deepEqual(overlapping(["2026-07-10", "2026-07-12"], ["2026-07-12", "2026-07-14"]), []);
  assert.deepEqual(overlapping(["2026-07-12", "2026-07-14"], ["2026-07-10", "2026-07-12"]), []);
  assert.deepEqual(overlapping(["2026-07-10", "2026-07-12"], ["2026-07-11", "2026-07-11"]), []);
  assert.deepEqual(overlapping(["2026-07-10", "2026-07-12"], ["2026-07-10", "2026-07-12"]), warning(1));
  assert.deepEqual(overlapping(["2026-07-10", "2026-07-20"], ["2026-07-12", "2026-07-13"]), warning(1));
  assert.deepEqual(
    overlapping(["2026-07-15", "2026-07-17"], ["2026-07-10", "2026-07-11"], ["2026-07-16", "2026-07-18"]),
    warning(2),
  );
  assert.deepEqual(
    overlapping(["2026-07-16", "2026-07-17"], ["2026-07-10", "2026-07-12"], ["2026-07-11", "2026-07-13"]),
    warning(2),
  );
});

test("room stays that share nights are warned about if daily revenue changes too often within them", () => {
  const dayOf = (day: number) => new Date(Date.UTC(2026, 0, 1 + day)).toISOString().slice(0, 10);
  const warnedOf = (stays: number, days: number) => {
    const stay = (leastRecord("reservations")["roomStays"] as object[])[0];
    const roomStays = Array(stays).fill({ ...stay, arrivalDate: dayOf(0), departureDate: dayOf(60) });
    const daily = Array.from({ length: days }, (_, at) => ({
      occupancyDate: dayOf(2 * at + 1),
      netRoomRevenue: 1,
    }));
    return warned("reservations", { ...leastRecord("reservations"), roomStays, stayRevenue: { daily } });
  };
  const overlapping = "/roomStays/1 reservation.overlapping-stays";
  assert.deepEqual(warnedOf(1, 29), []);
  assert.deepEqual(warnedOf(5, 7), [overlapping]);
  assert.deepEqual(warnedOf(5, 8), [overlapping, "/stayRevenue/daily reservation.too-many-changes"]);
});

/** Every date and time of an object and of the objects within it, with its pointer in the full record. */
function timeFields({ properties = {}, items }: FieldSchema, pointer = ""): [string, FieldSchema][] {
  if (items !== undefined) return timeFields(items, `${pointer}/0`);
  return Object.entries(properties).flatMap(([name, field]): [string, FieldSchema][] =>
    ["date", "timestamp"].includes(field.fieldKind)
      ? [[`${pointer}/${name}`, field]]
      : timeFields(field, `${pointer}/${name}`),
  );
}

test("a date or time before 2000 or after 2099 is a warning, in every field", () => {
  for (const resource of RESOURCES) {
    const fields = timeFields(RECORD_SCHEMAS[resource]);
    assert.ok(fields.length > 1);
    for (const [pointer, { fieldKind }] of fields) {
      for (const year of ["0001", "1970", "1999", "2000", "2099", "2100", "9999"]) {
        const time = fieldKind === "timestamp" ? "T00:00:00Z" : "";
        const record = changed(fullRecord(resource), pointer, `${year}-01-01${time}`);
        const bytes = Buffer.from(JSON.stringify(record));
        const own = readWhole(resource, bytes)
          .warnings.list()
          .filter((warning) => warning.pointer === pointer && warning.code === "time.implausible");
        assert.equal(own.length, year.startsWith("20") ? 0 : 1, `${resource} ${pointer} ${year}`);
      }
    }
  }
  const record = changed(fullRecord("reservations"), "/lastModifiedDateTime", "0001-01-01T00:00:00Z");
  const [warning] = read("reservations", record).warnings.list();
  assert.equal(warning?.message, "lastModifiedDateTime is in the year 0001, outside 2000 to 2099");
});

test("a hostile record of many stays and many days is read in time and its warnings are bounded", () => {
  const stay = (leastRecord("reservations")["roomStays"] as object[])[0];
  const record = {
    ...leastRecord("reservations"),
    roomStays: Array(30_000).fill(stay),
    stayRevenue: {
      daily: Array(30_000).fill({ occupancyDate: "2020-01-01", netTotalRevenue: "1", netRoomRevenue: "2" }),
    },
  };
  const started = process.cpuUsage();
  const warnings = readWhole("reservations", Buffer.from(JSON.stringify(record))).warnings.list();
  assert.ok(process.cpuUsage(started).user < 5e6);
  assert.equal(warnings.length, 101);
  assert.deepEqual(warnings.at(-1), {
    pointer: "",
    code: "warnings.more",
    message: "59902 more warnings are not listed",
  });
});

test("every warning's meaning is a sentence", () => {
  for (const [code, meaning] of Object.entries(WARNING_CODES)) assert.match(meaning, /\.$/, code);
});

test("reading is the same for the slice of a batch and for the record alone", () => {
  const body = `[ ${JSON.stringify(fullRecord("groups"))} , ${JSON.stringify(fullRecord("groups"), null, 2)} ]`;
  const [first, second] = recordsOf(body).map(({ start, end }) =>
    readWhole("groups", Buffer.from(body).subarray(start, end)),
  );
  const alone = read("groups", fullRecord("groups"));
  assert.deepEqual({ ...first, facts: "", content: "" }, { ...alone, facts: "", content: "" });
  assert.equal(factsText(first!.facts), factsText(alone.facts));
  assert.equal(factsText(second!.facts), factsText(first!.facts));
});
