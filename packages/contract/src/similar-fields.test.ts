import assert from "node:assert/strict";
import test from "node:test";
import { fullRecord, leastRecord } from "../../../test/contract/records.ts";
import { ComparedWord, nearest } from "./nearest.ts";
import { readRecord } from "./read-record.ts";
import { RESOURCES, type Resource } from "./resource.ts";
import type { FieldSchema } from "./schema/field.ts";
import { RECORD_SCHEMAS } from "./schema/record-schemas.ts";
import { FieldNames, UNKNOWN_NAMES_MAX } from "./similar-fields.ts";

const similar = (resource: Resource, text: string) =>
  readRecord(resource, Buffer.from(text))
    .content()
    .warnings.list()
    .filter(({ code }) => code === "field.similar");

/** The misspelt fields found in the least record with other fields: `pointer field`. */
function found(resource: Resource, fields: object): string[] {
  const text = JSON.stringify({ ...leastRecord(resource), ...fields });
  return similar(resource, text).map(({ pointer, message }) => {
    return `${pointer} ${/did you mean (\w+)\?$/.exec(message)?.[1]}`;
  });
}

const stay = (fields: object) => ({
  roomStays: [{ ...(leastRecord("reservations")["roomStays"] as object[])[0], ...fields }],
});

const fullStay = (fullRecord("reservations")["roomStays"] as Record<string, unknown>[])[0] ?? {};

test("a misspelt optional field is found, in every object of a record", () => {
  assert.deepEqual(found("reservations", { numberofRooms: 5 }), ["/numberofRooms numberOfRooms"]);
  assert.deepEqual(found("reservations", { numberOfRoom: 5 }), ["/numberOfRoom numberOfRooms"]);
  assert.deepEqual(found("reservations", { ShareId: "S" }), ["/ShareId shareId"]);
  assert.deepEqual(found("reservations", { share_id: "S", Chanel: "W" }), [
    "/share_id shareId",
    "/Chanel channel",
  ]);
  assert.deepEqual(found("reservations", stay({ ratess: [] })), ["/roomStays/0/ratess rates"]);
  assert.deepEqual(found("reservations", stay({ numberOfAdutls: 2 })), [
    "/roomStays/0/numberOfAdutls numberOfAdults",
  ]);
  assert.deepEqual(found("reservations", stay({ rates: [{ RateValue: "1" }] })), [
    "/roomStays/0/rates/0/RateValue rateValue",
  ]);
  assert.deepEqual(found("reservations", { profiles: [{}, { profiletype: "A" }] }), [
    "/profiles/1/profiletype profileType",
  ]);
  assert.deepEqual(
    found("reservations", { stayRevenue: { dayly: [], summary: { totalTicketRevenu: "1" } } }),
    ["/stayRevenue/dayly daily", "/stayRevenue/summary/totalTicketRevenu totalTicketRevenue"],
  );
  assert.deepEqual(found("groups", { cutoffdate: "2026-01-01", "master group code": "M" }), [
    "/cutoffdate cutoffDate",
    "/master group code masterGroupCode",
  ]);
  assert.deepEqual(found("groups", { services: [{ serviceNames: "A" }] }), [
    "/services/0/serviceNames serviceName",
  ]);
  const room = { roomTypeCode: "A", roomTypeCapacity: 1, roomsSold: 0, roomsNotAvailablemaintenance: 1 };
  assert.deepEqual(
    found("inventories", { roomTypeInventories: [room], virtualRoomTypeInventories: [room] }),
    [
      "/roomTypeInventories/0/roomsNotAvailablemaintenance roomsNotAvailableMaintenance",
      "/virtualRoomTypeInventories/0/roomsNotAvailablemaintenance roomsNotAvailableMaintenance",
    ],
  );
  assert.deepEqual(found("reservations", { "share~/id": "S" }), ["/share~0~1id shareId"].slice(1));
  const [warning] = similar(
    "reservations",
    JSON.stringify({ ...leastRecord("reservations"), numberofRooms: 5 }),
  );
  assert.equal(warning?.message, '"numberofRooms" is no field of the contract; did you mean numberOfRooms?');
});

test("every field is found by another case, without a letter and with two letters swapped", () => {
  const visit = (schema: FieldSchema) => {
    const fields = Object.keys(schema.properties ?? {});
    const names = new FieldNames(schema.properties ?? {});
    for (const field of fields) {
      assert.deepEqual(names.similarTo(field.toUpperCase()), { field, isSpelling: true });
      if (field.length < 5) continue;
      const swapped = `${field.slice(0, -2)}${field.at(-1)}${field.at(-2)}`;
      for (const typo of [field.slice(0, -1), swapped])
        if (!fields.includes(typo)) assert.equal(names.similarTo(typo)?.field, field, typo);
    }
    for (const member of Object.values(schema.properties ?? {})) visit(member.items ?? member);
  };
  for (const resource of RESOURCES) visit(RECORD_SCHEMAS[resource]);
});

test("a field is found without the ending or beginning that its name has, with another, and in another number", () => {
  const inReservation = {
    cancellationDate: "cancellationDateTime",
    bookingDate: "bookingDateTime",
    booking_date: "bookingDateTime",
    rooms: "numberOfRooms",
    roomCount: "numberOfRooms",
    channelCode: "channel",
    nationalityCodes: "nationality",
    profile: "profiles",
  };
  const inStay = {
    marketSegment: "marketSegmentCode",
    MarketSegments: "marketSegmentCode",
    segment: "marketSegmentCode",
    currency: "currencyCode",
    groupBlock: "groupBlockCode",
    bookedRoomType: "bookedRoomTypeCode",
    adults: "numberOfAdults",
    adult: "numberOfAdults",
    adultCount: "numberOfAdults",
    adultsCount: "numberOfAdults",
    numberOfInfant: "numberOfInfants",
    infants: "numberOfInfants",
  };
  const inGroup = {
    bookingDateTime: "bookingDate",
    cutoff: "cutoffDate",
    cancelDateTime: "cancelDate",
    groupType: "groupTypeCode",
    segment: "marketSegmentCode",
    actionCode: "action",
  };
  for (const [name, field] of Object.entries(inReservation))
    assert.deepEqual(found("reservations", { [name]: 1 }), [`/${name} ${field}`]);
  for (const [name, field] of Object.entries(inStay)) {
    assert.deepEqual(found("reservations", stay({ [name]: 1 })), [`/roomStays/0/${name} ${field}`]);
    assert.deepEqual(found("reservations", stay({ [name]: 1, [field]: fullStay[field] })), [], name);
  }
  for (const [name, field] of Object.entries(inGroup))
    assert.deepEqual(found("groups", { [name]: 1 }), [`/${name} ${field}`]);
});

test("a sender's own field is no misspelt one", () => {
  const own = [
    "id",
    "pid",
    "rateCode2",
    "roomName",
    "taxes",
    "notes",
    "numberOfPets",
    "cutoffTime",
    "stayDate",
    "rateType",
    "serviceCode",
    "numberOfServices",
    "rateCount",
    "roomDate",
    "segmentation",
    "numberOf",
    "count",
    "code",
    "date",
  ];
  assert.deepEqual(found("reservations", stay(Object.fromEntries(own.map((name) => [name, 1])))), []);
  // Beside the field itself, a similar name is the sender's own, unless it differs only in its spelling.
  assert.deepEqual(found("reservations", { numberOfRooms: 1, numberOfRoom: 2 }), []);
  assert.deepEqual(found("reservations", { numberOfRoom: 2, numberOfRooms: 1 }), []);
  assert.deepEqual(found("reservations", { numberOfRooms: 1, NumberOfRooms: 2 }), [
    "/NumberOfRooms numberOfRooms",
  ]);
  // Objects of its own may have any fields.
  assert.deepEqual(found("reservations", { own: { numberofRooms: 1 }, sharers: [{ shareID: "S" }] }), []);
  for (const resource of RESOURCES)
    assert.deepEqual(similar(resource, JSON.stringify(fullRecord(resource))), []);
});

test("many unknown names take linear time, and only the first ones are compared", () => {
  const unknown = Object.fromEntries(
    Array.from({ length: 100_000 }, (_, at) => [`${"x".repeat(20)}${at}`, 0]),
  );
  assert.deepEqual(found("reservations", { ...unknown, numberofRooms: 5 }), []);
  const few = Object.fromEntries(Array.from({ length: UNKNOWN_NAMES_MAX - 1 }, (_, at) => [`x${at}`, 0]));
  assert.deepEqual(found("reservations", { ...few, numberofRooms: 5 }), ["/numberofRooms numberOfRooms"]);
  const long = Object.fromEntries(
    Array.from({ length: 500 }, (_, at) => [`${at}${"numberofRoom".repeat(341)}`, 0]),
  );
  assert.deepEqual(found("reservations", long), []);
  const items = Array.from({ length: 900 }, () => ({ RateValue: "1" }));
  assert.equal(found("reservations", stay({ rates: items })).length, 100);
});

test("a swapped pair of letters is one edit for required fields too", () => {
  assert.equal(nearest("stauts", ["status"]), "status");
});

/** The distance by its definition: the fewest insertions, deletions, replacements and swaps of neighbours, none of them edited again. */
function distance(one: string, other: string): number {
  const rows = [Array.from({ length: other.length + 1 }, (_, at) => at)];
  const at = (row: number, to: number) => rows[row]?.[to] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= one.length; row += 1) {
    rows.push([row]);
    for (let to = 1; to <= other.length; to += 1) {
      const replaced = at(row - 1, to - 1) + (one[row - 1] === other[to - 1] ? 0 : 1);
      const isSwap = one[row - 1] === other[to - 2] && one[row - 2] === other[to - 1];
      const swapped = isSwap ? at(row - 2, to - 2) + 1 : replaced;
      rows[row]?.push(Math.min(replaced, swapped, at(row - 1, to) + 1, at(row, to - 1) + 1));
    }
  }
  return at(one.length, other.length);
}

test("edits are counted as the definition counts them, up to a limit", () => {
  let seed = 7;
  const next = (below: number) => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return (seed >>> 8) % below;
  };
  const wordOf = (length: number, kinds: number) =>
    Array.from({ length }, () => "abcdefgh"[next(kinds)]).join("");
  for (let round = 0; round < 3_000; round += 1) {
    const word = wordOf(next(33), 2 + next(6));
    let other = round % 2 === 0 ? word : wordOf(next(36), 2 + next(6));
    for (let edit = next(5); edit > 0; edit -= 1) {
      const at = next(other.length + 1);
      const swapped = [...other.slice(at, at + 2)].reverse().join("");
      const put = [wordOf(1, 8), "", swapped, "é"][next(4)];
      other = other.slice(0, at) + put + other.slice(at + next(3));
    }
    const edits = distance(word, other);
    const of = `${word} to ${other}`;
    assert.equal(new ComparedWord(word).editsTo(other, 99), edits, of);
    for (const max of [1, 2, 3])
      assert.equal(new ComparedWord(word).editsTo(other, max) > max, edits > max, of);
  }
});
