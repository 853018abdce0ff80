import type { LooseRecord } from "../support/records.ts";
import type { SeededRandom } from "../workload/seeded-random.ts";
import { plainShot, type ResourceName, type ShotMaker, validBatch, validRecord } from "./shot.ts";

const NO_CODE: readonly unknown[] = [5, null, true, "", [], {}, ["ACME"], { toString: 1 }];
const NO_DATE = [
  5,
  null,
  "",
  "2026-02-30",
  "2026-3-1",
  "2026-13-01",
  "0000-01-01",
  "10000-01-01",
  "2026-01-01T00:00:00Z",
  [],
  {},
];
const NO_MOMENT = [
  0,
  null,
  "",
  "2026-01-01",
  "2026-01-01T24:00:00Z",
  "2026-01-01T00:00:60Z",
  "2026-01-01T00:00:00",
  "2026-01-01T00:00:00+00:00",
  "2026-01-01T00:00:00.1234567891Z",
  "2026-02-30T00:00:00Z",
  {},
];
const NO_WHOLE_NUMBER = [
  null,
  true,
  "",
  "abc",
  "1.5",
  1.5,
  "1e5",
  "+1",
  " 1",
  "0x1",
  2_147_483_648,
  -2_147_483_649,
  "99999999999999999999",
  [],
  {},
];
const NO_DECIMAL = [true, "", "1,5", "NaN", "1e5", "1".repeat(39), ".5", "5.", "--1", [], {}];
const NO_LIST = [null, 5, "x", {}, [null], ["x"], [[]], [{}]];
const NO_TEXT = [5, true, [], {}, "x".repeat(4_097)];

/** A change that makes a record invalid. */
type Spoil = (record: LooseRecord, random: SeededRandom) => void;

const put =
  (field: string, values: readonly unknown[]): Spoil =>
  (record, random) => {
    record[field] = random.pick(values);
  };
const putWithin =
  (list: string, field: string, values: readonly unknown[]): Spoil =>
  (record, random) => {
    record[list] = [{ ...record[list][0], [field]: random.pick(values) }];
  };
const leaveOut =
  (field: string): Spoil =>
  (record) => {
    delete record[field];
  };

const SPOIL: Readonly<Record<ResourceName, readonly Spoil[]>> = {
  inventories: [
    put("clientCode", NO_CODE),
    put("propertyCode", NO_CODE),
    put("createDateTime", NO_MOMENT),
    put("occupancyDate", NO_DATE),
    put("roomTypeInventories", NO_LIST),
    put("virtualRoomTypeInventories", NO_LIST),
    putWithin("roomTypeInventories", "roomTypeCode", NO_CODE),
    putWithin("roomTypeInventories", "roomsSold", NO_WHOLE_NUMBER),
    putWithin("roomTypeInventories", "groupSold", NO_WHOLE_NUMBER),
    ...["clientCode", "propertyCode", "createDateTime", "occupancyDate", "roomTypeInventories"].map(leaveOut),
  ],
  reservations: [
    put("clientCode", NO_CODE),
    put("reservationId", [...NO_CODE, "x".repeat(129)]),
    put("lastModifiedDateTime", NO_MOMENT),
    put("status", [5, null, [], {}, "x".repeat(129)]),
    put("numberOfRooms", NO_WHOLE_NUMBER),
    put("roomStays", [...NO_LIST, []]),
    put("cancellationDateTime", ["", 5, "yesterday", {}]),
    put("channel", NO_TEXT),
    put("profiles", [null, 5, [5], ["x"]]),
    putWithin("roomStays", "arrivalDate", [...NO_DATE, "2026-03-13"]),
    putWithin("roomStays", "departureDate", [...NO_DATE, "2026-03-09"]),
    putWithin("roomStays", "roomTypeCode", NO_CODE),
    putWithin("roomStays", "rates", [[{ rateValue: "x" }], [{ startDate: "2026-01-32" }], {}]),
    (record, random) => {
      record["stayRevenue"] = {
        daily: [{ occupancyDate: "2026-03-10", netRoomRevenue: random.pick(NO_DECIMAL) }],
      };
    },
    ...["clientCode", "propertyCode", "lastModifiedDateTime", "reservationId", "status", "roomStays"].map(
      leaveOut,
    ),
  ],
  groups: [
    put("propertyCode", NO_CODE),
    put("groupCode", NO_CODE),
    put("lastModifiedDateTime", NO_MOMENT),
    put("startDate", [...NO_DATE, "2026-04-01"]),
    put("endDate", [...NO_DATE, "2026-01-01"]),
    put("cutoffDate", ["", 5, "2026-02-29", {}]),
    put("cutoffDays", NO_WHOLE_NUMBER),
    put("groupBlocks", NO_LIST),
    putWithin("groupBlocks", "blocks", NO_WHOLE_NUMBER),
    putWithin("groupBlocks", "singlePersonRate", [null, ...NO_DECIMAL]),
    ...["clientCode", "groupCode", "groupStatusCode", "startDate", "endDate", "groupBlocks"].map(leaveOut),
  ],
};

function spoiled(random: SeededRandom, resource: ResourceName): LooseRecord {
  const record = validRecord(random, resource);
  random.pick(SPOIL[resource])(record, random);
  return record;
}

const wrongField: ShotMaker = (random, token) => {
  const { resource, records } = validBatch(random);
  records[random.between(0, records.length - 1)] = spoiled(random, resource);
  return plainShot("wrong or missing fields", "refused", token, JSON.stringify(records), { resource });
};

const lenient: ShotMaker = (random, token) => {
  const { resource, records } = validBatch(random);
  const some = random.chance(0.7);
  const batch = some
    ? [...records, spoiled(random, resource)]
    : [spoiled(random, resource), spoiled(random, resource)];
  return plainShot(
    some ? "lenient, some valid" : "lenient, none valid",
    some ? "served" : "refused",
    token,
    JSON.stringify(random.shuffle(batch)),
    { resource, lines: ["Prefer: handling=lenient"] },
  );
};

/** The longest, largest and smallest of what is allowed, and the first beyond. */
const atTheLimit: ShotMaker = (random, token) => {
  const record = validRecord(random, "reservations");
  const within = random.chance(0.5);
  const beyond = within ? 0 : 1;
  random.pick([
    () => (record["reservationId"] = "\u00e9".repeat(128 + beyond)),
    () => (record["channel"] = "c".repeat(128 + beyond)),
    () => (record["cancellationReason"] = "\u{1f600}".repeat(4_096 + beyond)),
    () => (record["numberOfRooms"] = within ? 2_147_483_647 : 2_147_483_648),
    () => (record["numberOfRooms"] = within ? "-2147483648" : "-2147483649"),
    () => (record["lastModifiedDateTime"] = `2026-01-01T00:00:00.${"1".repeat(9 + beyond)}Z`),
    () => (record["roomStays"][0].arrivalDate = within ? "0001-01-01" : "0000-12-31"),
    () => (record["roomStays"][0].departureDate = within ? "9999-12-31" : "10000-01-01"),
    () => (record["roomStays"][0].rates = [{ rateValue: "9".repeat(38 + beyond) }]),
  ])();
  return plainShot(
    within ? "at the limit" : "beyond the limit",
    within ? "served" : "refused",
    token,
    JSON.stringify([record]),
  );
};

const foreign: ShotMaker = (random, token) => {
  const { resource, records } = validBatch(random);
  const code = random.pick([
    "OTHER",
    "acme",
    "ACME ",
    "*",
    "%",
    "ACME/LON01",
    "\r\n\u001b[31m",
    "'; drop table bellhop.accept_log; --",
    "../../etc",
    "x".repeat(random.between(1, 3_000)),
    "\u{1f600}".repeat(random.between(1, 200)),
    `${"x".repeat(127)}\u{1f600}`,
    "\u202eEMCA",
    "toString",
  ]);
  const record: LooseRecord = random.pick(records);
  record[random.pick(["clientCode", "propertyCode"])] = code;
  return plainShot("foreign codes", "refused", token, JSON.stringify(records), { resource });
};

/** JSON that is no valid batch of this client, or only just; with their shares. */
export const BROKEN_RECORDS: readonly (readonly [number, ShotMaker])[] = [
  [180, wrongField],
  [20, lenient],
  [30, atTheLimit],
  [25, foreign],
];
