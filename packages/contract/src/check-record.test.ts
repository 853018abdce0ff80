import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { factsText } from "../../../test/contract/facts.ts";
import {
  changed,
  fullRecord,
  LIMITS,
  leastRecord,
  recordOf,
  recordsOf,
} from "../../../test/contract/records.ts";
import { checkRecord } from "./check-record.ts";
import { findViolations, ViolationList } from "./field-kinds.ts";
import { readBatch } from "./read-batch.ts";
import { readRecord } from "./read-record.ts";
import { RESOURCES, type Resource } from "./resource.ts";
import { type FieldSchema, text } from "./schema/field.ts";
import { RECORD_SCHEMAS } from "./schema/record-schemas.ts";
import { VIOLATION_CODES } from "./violation.ts";

/** The violations of one record, as "pointer code". */
function found(resource: Resource, value: unknown): string[] {
  return checkRecord(resource, recordOf(value), 100).violations.map(
    ({ pointer, code }) => `${pointer} ${code}`,
  );
}
/** The violations of one record as text, read as the service does. */
function sent(resource: Resource, text: string) {
  const reading = readBatch(Buffer.from(`[${text}]`), LIMITS, resource);
  assert.ok(reading.ok);
  return checkRecord(resource, reading.records[0]!, 100).violations;
}
const messageOf = (resource: Resource, value: unknown) =>
  checkRecord(resource, recordOf(value), 100).violations[0]?.message;

/** Every field of a schema: its pointer within a full record, its schema, and whether it is required. */
function fieldsOf(
  schema: FieldSchema,
  prefix = "",
): { pointer: string; field: FieldSchema; required: boolean }[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const pointer = `${prefix}/${name}`;
    const own = { pointer, field, required: schema.required?.includes(name) === true };
    if (field.fieldKind === "object") return [own, ...fieldsOf(field, pointer)];
    if (field.items?.fieldKind === "object") return [own, ...fieldsOf(field.items, `${pointer}/0`)];
    return [own];
  });
}
const everyField = RESOURCES.flatMap((resource) =>
  fieldsOf(RECORD_SCHEMAS[resource]).map((one) => ({ resource, ...one })),
);

test("a record with every field is valid, and so is one with the required fields only", () => {
  for (const resource of RESOURCES) {
    assert.deepEqual(found(resource, fullRecord(resource)), []);
    assert.deepEqual(found(resource, leastRecord(resource)), []);
  }
});

test("only optional fields get the advice to omit them", () => {
  for (const { resource, pointer, field, required } of everyField) {
    if (field.nullable === true) continue;
    const advice = messageOf(resource, changed(fullRecord(resource), pointer, null));
    assert.equal(advice?.includes("leave it out"), !required, `${resource}${pointer}: ${advice}`);
  }
});

test("the advice to omit a null names the setting of each serialiser", () => {
  const record = changed(fullRecord("reservations"), "/numberOfRooms", null);
  assert.equal(
    messageOf("reservations", record),
    "numberOfRooms must not be null; leave it out (Jackson: NON_NULL; Gson: no serializeNulls; System.Text.Json: WhenWritingNull) or send a value",
  );
  const item = changed(fullRecord("reservations"), "/roomStays/0", null);
  assert.equal(
    messageOf("reservations", item),
    "item 0 of roomStays must not be null; leave it out or send a value",
  );
});

test("with nullsAbsent, null in an optional field is valid, whether the record is walked or parsed, and reads as absent", () => {
  const limits = { ...LIMITS, nullsAbsent: true };
  const totalOf = (resource: Resource, text: string, walked: boolean) => {
    const reading = readBatch(Buffer.from(`[${text}]`), limits, walked ? resource : undefined);
    assert.ok(reading.ok);
    const record = reading.records[0]!;
    return { total: checkRecord(resource, record, 100, undefined, true).total, validAs: record.validAs };
  };
  for (const { resource, pointer, field, required } of everyField) {
    const text = JSON.stringify(changed(fullRecord(resource), pointer, null));
    const isValid = !required || field.nullable === true;
    const walked = totalOf(resource, text, true);
    assert.equal(walked.total === 0, isValid, `${resource}${pointer}`);
    assert.equal(totalOf(resource, text, false).total === 0, isValid, `${resource}${pointer}`);
    if (!isValid) continue;
    assert.equal(walked.validAs, resource, `${resource}${pointer}`);
    const omitted = JSON.stringify(changed(fullRecord(resource), pointer, undefined));
    const factsOf = (json: string) => factsText(readRecord(resource, Buffer.from(json)).content().facts);
    assert.equal(factsOf(text), factsOf(omitted), `${resource}${pointer}`);
    assert.equal(
      factsOf(text.replace("clientCode", "client\\u0043ode")),
      factsOf(omitted),
      `${resource}${pointer}`,
    );
  }
  const items = JSON.stringify(changed(fullRecord("reservations"), "/roomStays/0", null));
  for (const isWalked of [true, false]) assert.equal(totalOf("reservations", items, isWalked).total, 1);
});

test("the required fields are those of the contract", () => {
  const required = everyField
    .filter((one) => one.required)
    .map(({ resource, pointer }) => `${resource}${pointer}`);
  const room = (list: string) =>
    ["roomTypeCode", "roomTypeCapacity", "roomsSold"].map((name) => `inventories/${list}/0/${name}`);
  assert.deepEqual(
    required.sort(),
    [
      ...["clientCode", "createDateTime", "propertyCode", "occupancyDate", "roomTypeInventories"].map(
        (name) => `inventories/${name}`,
      ),
      ...room("roomTypeInventories"),
      ...room("virtualRoomTypeInventories"),
      ...["clientCode", "propertyCode", "lastModifiedDateTime", "reservationId", "status", "roomStays"].map(
        (name) => `reservations/${name}`,
      ),
      ...["arrivalDate", "departureDate", "roomTypeCode"].map((name) => `reservations/roomStays/0/${name}`),
      "reservations/stayRevenue/daily/0/occupancyDate",
      ...[
        "clientCode",
        "propertyCode",
        "lastModifiedDateTime",
        "groupCode",
        "groupStatusCode",
        "startDate",
        "endDate",
        "groupBlocks",
      ].map((name) => `groups/${name}`),
      ...["occupancyDate", "roomTypeCode", "blocks"].map((name) => `groups/groupBlocks/0/${name}`),
    ].sort(),
  );
});

test("no field of the contract is named like what every object inherits", () => {
  for (const { pointer } of RESOURCES.flatMap((resource) => fieldsOf(RECORD_SCHEMAS[resource])))
    assert.ok(!((pointer.split("/").at(-1) as string) in Object.prototype), pointer);
});

test("a missing field is a violation exactly where it is required", () => {
  for (const { resource, pointer, required } of everyField) {
    const violations = found(resource, changed(fullRecord(resource), pointer, undefined));
    assert.deepEqual(violations, required ? [`/0${pointer} required`] : [], `${resource}${pointer}`);
  }
});

// test/contract/specification-fields.test.ts holds the schemas to the specification.
test("null is accepted in the fields that are nullable, and in no other", () => {
  for (const { resource, pointer, field } of everyField) {
    const violations = found(resource, changed(fullRecord(resource), pointer, null));
    assert.deepEqual(violations, field.nullable === true ? [] : [`/0${pointer} null`], resource);
  }
  assert.deepEqual(found("groups", changed(fullRecord("groups"), "/name", null)), ["/0/name null"]);
});

test("a value of the wrong type is a violation of its field, at any place", () => {
  const wrong: Record<string, unknown[]> = {
    text: [1, true, {}, []],
    date: [20260714, {}],
    count: [true, [], {}],
    decimal: [false, {}],
    boolean: ["true", 1, "false"],
    array: [{}, "[]", 1],
    object: [[], "x", 1],
    word: [1],
  };
  const like: Record<string, string> = {
    code: "text",
    identity: "text",
    currency: "text",
    timestamp: "date",
    integer: "count",
  };
  for (const { resource, pointer, field } of everyField) {
    for (const value of wrong[like[field.fieldKind] ?? field.fieldKind] ?? []) {
      assert.deepEqual(
        found(resource, changed(fullRecord(resource), pointer, value)),
        [`/0${pointer} type`],
        `${resource}${pointer}`,
      );
    }
  }
});

test("an element that is no object is a violation of that record, not of the batch", () => {
  const records = recordsOf('[{},1,null,"x",[],true]');
  const pointers = records
    .slice(1)
    .map((record) =>
      checkRecord("groups", record, 100).violations.map(({ pointer, code }) => `${pointer} ${code}`),
    );
  assert.deepEqual(pointers, [["/1 type"], ["/2 null"], ["/3 type"], ["/4 type"], ["/5 type"]]);
});

test("quantities are numbers or numeric texts", () => {
  const codes = (pointer: string, value: unknown) =>
    found("reservations", changed(fullRecord("reservations"), pointer, value)).map(
      (line) => line.split(" ")[1],
    );
  for (const value of [2, "2", 1.0, "1.0", "-1", -1, "007"])
    assert.deepEqual(codes("/roomStays/0/numberOfAdults", value), [], String(value));
  for (const value of [1.5, "1.5", "", "abc", "1e5", "NaN", " 1"])
    assert.deepEqual(codes("/roomStays/0/numberOfAdults", value), ["number.integer"], String(value));
  for (const value of [2147483648, "-2147483649"])
    assert.deepEqual(codes("/roomStays/0/numberOfAdults", value), ["number.range"]);
  for (const value of ["12.50", -3, 0.1, "0"])
    assert.deepEqual(codes("/roomStays/0/rates/0/rateValue", value), [], String(value));
  for (const value of ["", "abc", "1e5", "1,5", ".5", "9".repeat(39), "Infinity"])
    assert.deepEqual(codes("/roomStays/0/rates/0/rateValue", value), ["number.decimal"], String(value));
});

test("long number literals are judged by their text, not by the double they round to", () => {
  const codes = (literal: string) => {
    const text = JSON.stringify(
      changed(fullRecord("reservations"), "/roomStays/0/services/0/serviceValue", "LITERAL"),
    ).replace('"LITERAL"', literal);
    return sent("reservations", text).map(({ code }) => code);
  };
  assert.deepEqual(codes("0.1234567890123456789"), []);
  assert.deepEqual(codes("1e2"), []);
  assert.deepEqual(codes(`0.${"1".repeat(39)}`), ["number.decimal"]);
  assert.deepEqual(codes("1e-39"), ["number.decimal"]);
  assert.deepEqual(codes("1e400"), ["number.decimal"]);
  assert.deepEqual(codes("1e-400"), ["number.decimal"]);
  assert.deepEqual(codes("1.7976931348623157E308"), ["number.decimal"]);
  for (const exact of ["9007199254740993", "1.2345678901234567e20", "3.4028234663852886e37", "9".repeat(38)])
    assert.deepEqual(codes(exact), [], exact);
  const count = (literal: string) =>
    sent(
      "groups",
      JSON.stringify(changed(fullRecord("groups"), "/cutoffDays", "L")).replace('"L"', literal),
    ).map(({ code }) => code);
  assert.deepEqual(count("1e1"), []);
  assert.deepEqual(count("1.0000000000000000"), []);
  assert.deepEqual(count("1.0000000000000000001"), ["number.integer"]);
  for (const large of ["1e10", "9007199254740993", "-1e400", `1${"0".repeat(50)}`, "9".repeat(60)])
    assert.deepEqual(count(large), ["number.range"], large);
  for (const small of ["1e-400", "1e-40"]) assert.deepEqual(count(small), ["number.integer"], small);
  assert.deepEqual(
    checkRecord(
      "groups",
      recordsOf(
        `[${JSON.stringify(changed(fullRecord("groups"), "/name", "L")).replace('"L"', "1234567890123456")}]`,
      )[0]!,
      100,
    ).violations.map(({ code }) => code),
    ["type"],
  );
});

test("dates are calendar dates and timestamps are UTC", () => {
  const reservation = (pointer: string, value: unknown) =>
    found("reservations", changed(fullRecord("reservations"), pointer, value));
  for (const value of ["2026-02-30", "2026-7-14", "", "2026-07-14T00:00:00Z"]) {
    assert.deepEqual(reservation("/roomStays/0/arrivalDate", value), [
      "/0/roomStays/0/arrivalDate format.date",
    ]);
  }
  for (const value of [
    "2026-07-14",
    "2026-07-14T00:00:00",
    "2026-07-14T00:00:00+02:00",
    "2026-07-14T00:00:00.1234567890Z",
    "",
  ]) {
    assert.deepEqual(reservation("/lastModifiedDateTime", value), [
      "/0/lastModifiedDateTime format.timestamp",
    ]);
  }
  assert.deepEqual(found("groups", changed(fullRecord("groups"), "/bookingDate", "2026-02-01T00:00:00Z")), [
    "/0/bookingDate format.date",
  ]);
});

test("a period may end on the day it starts and not before", () => {
  const periods: [Resource, string, string, string][] = [
    ["reservations", "/roomStays/0", "arrivalDate", "departureDate"],
    ["reservations", "/roomStays/0/rates/0", "startDate", "endDate"],
    ["reservations", "/roomStays/0/services/0", "startDate", "endDate"],
    ["groups", "", "startDate", "endDate"],
    ["groups", "/services/0", "startDate", "endDate"],
  ];
  for (const [resource, holder, start, end] of periods) {
    const record = changed(fullRecord(resource), `${holder}/${start}`, "2026-07-14");
    assert.deepEqual(found(resource, changed(record, `${holder}/${end}`, "2026-07-14")), []);
    assert.deepEqual(found(resource, changed(record, `${holder}/${end}`, "2026-07-13")), [
      `/0${holder}/${end} order.dates`,
    ]);
  }
});

test("texts have their greatest length in characters, and identities are not empty", () => {
  for (const { resource, pointer, field } of everyField) {
    if (!["text", "code", "identity", "currency"].includes(field.fieldKind)) continue;
    const max = field.maxLength ?? assert.fail(`${resource}${pointer} has no limit`);
    for (const text of ["x".repeat(max), "😀".repeat(max)])
      assert.deepEqual(found(resource, changed(fullRecord(resource), pointer, text)), [], pointer);
    for (const text of ["x".repeat(max + 1), "😀".repeat(max + 1)])
      assert.deepEqual(found(resource, changed(fullRecord(resource), pointer, text)), [
        `/0${pointer} length`,
      ]);
    assert.deepEqual(
      found(resource, changed(fullRecord(resource), pointer, "")),
      field.fieldKind === "identity" ? [`/0${pointer} length`] : [],
    );
  }
});

test("a text field may have its own length limit", () => {
  const violations = new ViolationList(0, 10, [], 0);
  findViolations(text("Requests", "High floor", {}, 500), "x".repeat(501), violations);
  assert.deepEqual(
    violations.kept.map(({ message }) => message),
    ["the record must have at most 500 characters; got 501"],
  );
});

test("a message counts the characters of a text as its bound does", () => {
  const tooLong = changed(fullRecord("reservations"), "/channel", `${"😀".repeat(128)}xy`);
  assert.match(messageOf("reservations", tooLong) ?? "", /at most 128 characters; got 130$/);
});

test("a long text that is within its characters is not reported beside another violation", () => {
  const record = {
    ...fullRecord("reservations"),
    channel: "😀".repeat(128),
    primarySharer: "😀".repeat(128),
    status: "",
  };
  assert.deepEqual(found("reservations", record), ["/0/status length"]);
  assert.deepEqual(
    found("reservations", { ...fullRecord("reservations"), primarySharer: "😀".repeat(128) }),
    [],
  );
  assert.deepEqual(
    found("reservations", { ...fullRecord("reservations"), primarySharer: "😀".repeat(129) }),
    ["/0/primarySharer length"],
  );
});

test("a reservation needs a room stay, and arrays are bounded", () => {
  assert.deepEqual(found("reservations", changed(fullRecord("reservations"), "/roomStays", [])), [
    "/0/roomStays required",
  ]);
  assert.deepEqual(found("inventories", changed(fullRecord("inventories"), "/roomTypeInventories", [])), []);
  assert.deepEqual(found("groups", changed(fullRecord("groups"), "/groupBlocks", [])), []);
  assert.deepEqual(
    found("reservations", changed(fullRecord("reservations"), "/profiles", Array(100_001).fill({}))),
    ["/0/profiles length"],
  );
});

test("fields missing from the specification are typed, and unknown ones are stored with any value", () => {
  for (const value of ["COMMIT", "modify", "New", ""])
    assert.deepEqual(found("groups", changed(fullRecord("groups"), "/action", value)), []);
  assert.deepEqual(found("groups", changed(fullRecord("groups"), "/action", 1)), ["/0/action type"]);
  for (const value of [true, "S-1", ""])
    assert.deepEqual(found("reservations", changed(fullRecord("reservations"), "/primarySharer", value)), []);
  assert.deepEqual(found("reservations", changed(fullRecord("reservations"), "/primarySharer", 1)), [
    "/0/primarySharer type",
  ]);
  assert.deepEqual(
    found("reservations", changed(fullRecord("reservations"), "/sharers", ["S-1", { id: 1 }])),
    [],
  );
  assert.deepEqual(found("reservations", changed(fullRecord("reservations"), "/sharers", [1, [], null])), [
    "/0/sharers/0 type",
    "/0/sharers/1 type",
    "/0/sharers/2 null",
  ]);
  for (const value of [null, 1.5, "x".repeat(10_000), [[null]], { anything: [true] }]) {
    for (const [resource, pointer] of [
      ["reservations", "/roomStays/0/futureField"],
      ["inventories", "/x"],
      ["groups", "/groupBlocks/0/toString"],
    ] as const) {
      assert.deepEqual(found(resource, changed(fullRecord(resource), pointer, value)), []);
    }
  }
});

test("a number of an unknown field is refused only where readers of JSON have none such", () => {
  for (const resource of RESOURCES) {
    const record = JSON.stringify(fullRecord(resource)).slice(1);
    // Records of more than 64 KiB keep known names only, and are read in turns.
    for (const filler of ["", `"filler":[${'"xxxxxxxxxx",'.repeat(7_000)}0],`]) {
      const codes = (literal: string) =>
        sent(resource, `{"rowId":${literal},"own":{"roomsSold":[${literal}]},${filler}${record}`).map(
          ({ pointer, code }) => `${pointer} ${code}`,
        );
      for (const kept of [
        "1234567890123456789",
        "9223372036854775807",
        "18446744073709551616",
        "1.7976931348623157E308",
        "3.4028234663852886e38",
        "1.2345678901234567e20",
        "9007199254740992.5",
        "4.9e-324",
      ])
        assert.deepEqual(codes(kept), [], kept);
      for (const lost of ["1e400", "-1e400", "1e-400", `1${"0".repeat(400)}`])
        assert.deepEqual(codes(lost), ["/0/rowId number.unsafe", "/0/own/roomsSold/0 number.unsafe"], lost);
    }
  }
});

test("a number of a known field is judged by the field, in a large record too", () => {
  const { groupBlocks, ...group } = fullRecord("groups");
  const [block] = groupBlocks as object[];
  for (const blocks of [1, 500]) {
    const text = JSON.stringify({ ...group, groupBlocks: Array(blocks).fill(block) })
      .replace('"blocks":20', '"blocks":1e400')
      .replace('"singlePersonRate":140', '"singlePersonRate":1e400');
    assert.deepEqual(
      sent("groups", text).map(({ pointer, code }) => `${pointer} ${code}`),
      ["/0/groupBlocks/0/blocks number.range", "/0/groupBlocks/0/singlePersonRate number.decimal"],
    );
  }
  assert.deepEqual(
    sent("groups", "1e400").map(({ code }) => code),
    ["type"],
  );
});

test("faults in the text of a record are listed with those of its values", () => {
  const text = JSON.stringify(changed(fullRecord("groups"), "/startDate", "x")).replace(
    '"name":',
    '"name":"\\ud800","name":',
  );
  const { violations, total } = checkRecord("groups", recordsOf(`[${text}]`)[0]!, 100);
  assert.deepEqual(
    violations.map(({ pointer, code }) => `${pointer} ${code}`),
    ["/0/name text.surrogate", "/0/name name.duplicate", "/0/startDate format.date"],
  );
  assert.equal(total, 3);
});

test("all violations are counted, and the requested number is listed", () => {
  const record = recordOf(changed(fullRecord("groups"), "/groupBlocks", Array(500).fill({})));
  const { violations, total } = checkRecord("groups", record, 100);
  assert.equal(violations.length, 100);
  assert.equal(total, 1500);
  assert.equal(checkRecord("groups", record, 0).total, 1500);
  assert.deepEqual(checkRecord("groups", record, 0).violations, []);
});

test("messages state the expected and the actual value", () => {
  const reservation = fullRecord("reservations");
  const message = (pointer: string, value: unknown) =>
    messageOf("reservations", changed(reservation, pointer, value));
  assert.equal(
    message("/roomStays/0/arrivalDate", "2026-02-30"),
    'arrivalDate must be a calendar date as YYYY-MM-DD; got "2026-02-30"',
  );
  assert.equal(
    message("/roomStays/0/departureDate", "2026-07-01"),
    "departureDate must not be before arrivalDate; got 2026-07-01 before 2026-07-14",
  );
  assert.equal(
    message("/roomStays/0/numberOfAdults", "two"),
    'numberOfAdults must be an integer, like 2 or "2"; got "two"',
  );
  assert.equal(message("/roomStays/0/roomTypeCode", undefined), "roomTypeCode is required");
  assert.equal(
    message("/roomStays/0/rates/0/rateValue", "1E+3"),
    'rateValue must be a decimal of at most 38 digits, as a number or a string without an exponent, like "12.50"; got "1E+3"',
  );
  assert.equal(
    sent("groups", JSON.stringify(fullRecord("groups")).replace(/"cutoffDays":\d+/, '"cutoffDays":1e400'))[0]
      ?.message,
    "cutoffDays must fit 32 bits (-2147483648 to 2147483647); got 1e400",
  );
  assert.equal(message("/roomStays", [1]), "item 0 of roomStays must be an object; got number");
  assert.equal(messageOf("groups", 7), "the record must be an object; got number");
  const types: [value: unknown, name: string][] = [
    [7, "number"],
    [true, "boolean"],
    [[], "array"],
    [{}, "object"],
  ];
  for (const [value, name] of types)
    assert.equal(message("/roomStays/0/roomTypeCode", value), `roomTypeCode must be a string; got ${name}`);
});

test("a misspelt field name is suggested, by the violations of a batch only", () => {
  const stay = (name: string) =>
    messageOf("reservations", {
      ...fullRecord("reservations"),
      roomStays: [{ arrivalDate: "2026-07-14", departureDate: "2026-07-15", [name]: "DLX", note: "x" }],
    });
  for (const name of ["roomTypCode", "RoomTypeCode", "room_type_code", "romTypeCod"]) {
    const expected = `roomTypeCode is required; got "${name}" (did you mean roomTypeCode?)`;
    assert.equal(stay(name), expected);
  }
  for (const name of ["roomCode", "rateCode", "bookedRoomTypeCode", `room${"_".repeat(60)}TypeCode`])
    assert.equal(stay(name), "roomTypeCode is required", name);
  const { roomTypeInventories, ...night } = fullRecord("inventories");
  assert.equal(
    messageOf("inventories", { ...night, roomTypeInventory: roomTypeInventories }),
    'roomTypeInventories is required; got "roomTypeInventory" (did you mean roomTypeInventories?)',
  );
});

test("the records of a batch have twenty suggestions together", () => {
  const suggestions = { given: 0 };
  const blocks = Array(15).fill({ occupancyDate: "2026-07-14", roomTypeCod: "DLX", blocks: 1 });
  const record = recordOf(changed(fullRecord("groups"), "/groupBlocks", blocks));
  const suggested = () =>
    checkRecord("groups", record, 100, suggestions).violations.filter(({ message }) =>
      message.endsWith("(did you mean roomTypeCode?)"),
    ).length;
  assert.deepEqual([suggested(), suggested(), suggested()], [15, 5, 0]);
});

test("messages are short, printable, and never show a free text", () => {
  const secret = "Geheim-Gast";
  for (const { resource, pointer, field } of everyField) {
    for (const value of [`${secret}\u001b[2J\r\n\u202e`.repeat(500), { name: secret }, [secret], 1e9 + 0.5]) {
      for (const { message } of checkRecord(
        resource,
        recordOf(changed(fullRecord(resource), pointer, value)),
        100,
      ).violations) {
        assert.match(message, /^[\x20-\x7e]{1,240}$/);
        if (["text", "code", "identity", "currency", "object", "array"].includes(field.fieldKind))
          assert.ok(!message.includes(secret), message);
      }
    }
  }
});

test("a record that is walked over as valid has no violation", () => {
  const leaf = fc.oneof(
    fc.jsonValue({ maxDepth: 1 }),
    fc.constantFrom<unknown>(
      "",
      "2",
      "1.5",
      "1e5",
      0,
      -1,
      1.5,
      2 ** 31,
      null,
      true,
      [],
      {},
      "2026-07-14",
      "2026-02-30",
      "2026-07-14T00:00:00Z",
      "x".repeat(129),
      "x".repeat(4097),
      "COMMIT",
      [{}],
      undefined,
    ),
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...RESOURCES),
      fc.array(fc.tuple(fc.nat(), leaf), { minLength: 1, maxLength: 3 }),
      (resource, changes) => {
        const fields = fieldsOf(RECORD_SCHEMAS[resource]);
        let record = fullRecord(resource);
        for (const [at, value] of changes) {
          try {
            record = changed(record, fields[at % fields.length]!.pointer, value);
          } catch {
            // A step of the pointer leads through what an earlier change replaced by a scalar.
          }
        }
        const list = new ViolationList(0, 100, [], 0);
        const json = JSON.stringify(record);
        findViolations(RECORD_SCHEMAS[resource], JSON.parse(json), list);
        const reading = readBatch(Buffer.from(`[${json}]`), LIMITS, resource);
        const isWalked = reading.ok && reading.records[0]?.validAs === resource;
        if (isWalked) assert.deepEqual(list.kept, []);
      },
    ),
    { numRuns: 5000 },
  );
});

test("every code that a check gives is registered with a meaning", () => {
  for (const [code, meaning] of Object.entries(VIOLATION_CODES)) assert.match(meaning, /\.$/, code);
});
