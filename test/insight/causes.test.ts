import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { addDays } from "#contract/dates.ts";
import type { NightReconciliation } from "../../src/insight/one-night.ts";
import { accept, group, inventory, reservation, untilApplied } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

type Some = Readonly<Record<string, unknown>>;

const FIRST = "2026-12-01";
const BOOKED = "2026-06-01T10:00:00Z";
const COUNTED = "2026-08-01T02:00:00Z";
const LATER = "2026-08-02T10:00:00Z";
const LENIENT = { headers: { prefer: "handling=lenient" } };
const on = (day: number) => addDays(FIRST, day);

const stayOf = (from: number, to: number, more: Some = {}) => ({
  arrivalDate: on(from),
  departureDate: on(to),
  roomTypeCode: "DLX",
  ...more,
});
const stay = (from: number, to: number, more: Some = {}) => ({ roomStays: [stayOf(from, to, more)] });

/** The newest batch, which is applied last. */
let newest = "";
async function send(resource: string, records: readonly Some[], options = {}): Promise<string> {
  newest = await accept(service, resource, records, options);
  return newest;
}

/** A hotel with four reservations of its own on three nights, and what its inventory says of DLX each night. */
async function hotelOf(propertyCode: string) {
  const of = { propertyCode };
  const book = (id: string, more: Some, modified = BOOKED) =>
    send("reservations", [reservation(id, modified, { ...of, ...more })]);
  await send(
    "reservations",
    [1, 2, 3, 4].map((number) => reservation(`B${number}`, BOOKED, { ...of, ...stay(0, 3) })),
  );
  const count = (sold: readonly number[], more: Some = {}, others: readonly Some[] = []) =>
    send(
      "inventories",
      sold.map((roomsSold, day) =>
        inventory(on(day), COUNTED, {
          ...of,
          roomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: 20, roomsSold, ...more }, ...others],
          virtualRoomTypeInventories: [{ roomTypeCode: "ANY", roomTypeCapacity: 9, roomsSold: 0 }],
        }),
      ),
    );
  const night = async (day = 1) => {
    await untilApplied(service, newest);
    const query = new URLSearchParams({ clientCode: "ACME", propertyCode, stayDate: on(day) });
    const answer = await service.get(`/api/insight/v1/reconciliation/night?${query}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.json() as unknown as NightReconciliation;
  };
  return { of, book, count, night };
}
type Hotel = Awaited<ReturnType<typeof hotelOf>>;

/** Causes that are planted one by one: what is sent before and after the count, and the first finding of the second night. */
const CASES: readonly {
  readonly name: string;
  readonly plant: (hotel: Hotel) => Promise<unknown>;
  readonly sold?: readonly number[];
  readonly count?: Some;
  readonly others?: readonly Some[];
  readonly after?: (hotel: Hotel) => Promise<unknown>;
  readonly finds: readonly [kind: string, rooms: number, ...keys: string[]];
}[] = [
  {
    name: "two reservations in one room without a share",
    plant: async ({ book }) => {
      await book("R5", stay(0, 3, { roomNumber: "301" }));
      await book("R6", stay(1, 3, { roomNumber: "301" }));
    },
    sold: [5, 5, 5],
    finds: ["room-without-share", -1, "R6", "R5"],
  },
  {
    name: "a pseudo room that inventory does not list",
    plant: ({ book }) => book("R5", stay(0, 3, { roomTypeCode: "PM" })),
    sold: [4, 4, 4],
    finds: ["room-type-not-listed", -1, "R5"],
  },
  {
    name: "a virtual room type that the hotel counts as the real one",
    plant: ({ book }) => book("R5", stay(0, 3, { roomTypeCode: "ANY" })),
    sold: [5, 5, 5],
    finds: ["virtual-room-type", 1, "R5"],
  },
  ...["dlx", "DLX ", "D-LX"].map((roomTypeCode, number) => ({
    name: `the room type written ${JSON.stringify(roomTypeCode)} (${number})`,
    plant: ({ book }: Hotel) => book("R5", stay(0, 3, { roomTypeCode })),
    sold: [5, 5, 5],
    finds: ["room-type-spelling", 1, "R5"] as const,
  })),
  {
    name: "a departure in the year 9999",
    plant: ({ book }) => book("R5", { roomStays: [{ ...stayOf(0, 1), departureDate: "9999-12-31" }] }),
    sold: [5, 5, 5],
    finds: ["implausible-dates", 1, "R5"],
  },
  {
    name: "a departure in the wrong year",
    plant: ({ book }) => book("R5", { roomStays: [{ ...stayOf(0, 1), departureDate: addDays(FIRST, 731) }] }),
    sold: [5, 4, 4],
    finds: ["implausible-dates", -1, "R5"],
  },
  {
    name: "house use at rate 0 that the hotel leaves out",
    plant: ({ book }) => book("R5", stay(0, 3, { currencyCode: "EUR", rates: [{ rateValue: "0.00" }] })),
    sold: [4, 4, 4],
    finds: ["complimentary-left-out", -1, "R5"],
  },
  {
    name: "a rejected reservation",
    plant: async ({ of }) => {
      const valid = reservation("B1", BOOKED, { ...of, ...stay(0, 3) });
      const invalid = reservation("R1200", BOOKED, { ...of, ...stay(0, 3), numberOfRooms: "many" });
      await send("reservations", [valid, invalid], LENIENT);
    },
    sold: [5, 5, 5],
    finds: ["rejected", 1, "R1200"],
  },
  {
    name: "a rejected reservation whose dates are reversed",
    plant: async ({ of }) => {
      const valid = reservation("B1", BOOKED, { ...of, ...stay(0, 3) });
      const invalid = reservation("R5", BOOKED, { ...of, ...stay(1, 2), roomStays: [stayOf(2, 1)] });
      await send("reservations", [valid, invalid], LENIENT);
    },
    sold: [4, 5, 4],
    finds: ["rejected", 1, "R5"],
  },
  {
    name: "a quarantined reservation",
    plant: ({ of }) => {
      const future = new Date(Date.now() + 3_600_000).toISOString();
      return send("reservations", [reservation("R5", future, { ...of, ...stay(0, 3) })]);
    },
    sold: [5, 5, 5],
    finds: ["quarantined", 1, "R5"],
  },
  {
    name: "a newer count in quarantine",
    plant: ({ of }) => {
      const future = new Date(Date.now() + 3_600_000).toISOString();
      const record = inventory(on(1), future, {
        ...of,
        roomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: 20, roomsSold: 4 }],
      });
      return send("inventories", [record]);
    },
    sold: [4, 7, 4],
    finds: ["quarantined", 3, on(1)],
  },
  {
    name: "day use that is counted as sold",
    plant: ({ book }) => book("R5", stay(1, 1)),
    sold: [4, 5, 4],
    finds: ["day-use-counted", 1, "R5"],
  },
  {
    name: "three reservations under a status that is not mapped",
    plant: async ({ book }) => {
      for (const id of ["R5", "R6", "R7", "R8"]) await book(id, { ...stay(0, 3), status: "HOUSE" });
    },
    sold: [8, 8, 8],
    finds: ["unmapped-label", 4, "R5", "R6", "R7", "R8"],
  },
  {
    name: "pickup of a group without its reservations",
    plant: ({ of }) =>
      send("groups", [
        group("G1", BOOKED, {
          ...of,
          groupBlocks: [0, 1, 2].map((day) => ({
            occupancyDate: on(day),
            roomTypeCode: "DLX",
            blocks: 9,
            pickup: 3,
          })),
        }),
      ]),
    sold: [7, 7, 7],
    finds: ["pickup-not-received", 3, "G1"],
  },
  {
    name: "a second sharer with 0 rooms",
    plant: async ({ book }) => {
      await book("R5", { ...stay(0, 3), shareId: "S" });
      await book("R6", { ...stay(0, 3), shareId: "S", numberOfRooms: 0 });
    },
    sold: [6, 6, 6],
    finds: ["share-counted-twice", 1, "R6", "R5"],
  },
  {
    name: "a stay listed twice, which the hotel counts twice",
    plant: ({ book }) => book("R5", { roomStays: [stayOf(0, 3), stayOf(0, 3)] }),
    sold: [6, 6, 6],
    finds: ["overlapping-stays", 1, "R5"],
  },
  {
    name: "overlapping stays of two room types, of which the hotel counts the first",
    plant: ({ book }) => book("R5", { roomStays: [stayOf(0, 3), stayOf(1, 3, { roomTypeCode: "STE" })] }),
    sold: [5, 5, 5],
    others: [{ roomTypeCode: "STE", roomTypeCapacity: 5, roomsSold: 0 }],
    finds: ["overlapping-stays", 1, "R5"],
  },
  {
    name: "three sharers counted as three",
    plant: async ({ book }) => {
      for (const id of ["R5", "R6", "R7"]) await book(id, { ...stay(0, 3), shareId: "S" });
    },
    sold: [7, 7, 7],
    finds: ["share-counted-twice", 2, "R6", "R7", "R5"],
  },
  {
    name: "moved to other dates after the count",
    plant: ({ book }) => book("R5", stay(0, 3)),
    sold: [5, 5, 5],
    after: ({ book }) => book("R5", stay(20, 23), LATER),
    finds: ["changed-since-count", 1, "R5"],
  },
  {
    name: "fewer rooms after the count",
    plant: ({ book }) => book("R5", { ...stay(0, 3), numberOfRooms: 3 }),
    sold: [7, 7, 7],
    after: ({ book }) => book("R5", stay(0, 3), LATER),
    finds: ["changed-since-count", 2, "R5"],
  },
  {
    name: "shortened after the count",
    plant: ({ book }) => book("R5", stay(0, 3)),
    sold: [5, 5, 5],
    after: ({ book }) => book("R5", stay(0, 1), LATER),
    finds: ["changed-since-count", 1, "R5"],
  },
  {
    name: "cancelled after the count",
    plant: ({ book }) => book("R5", stay(0, 3)),
    sold: [5, 5, 5],
    after: ({ book }) => book("R5", { ...stay(0, 3), status: "CANCELLED" }, LATER),
    finds: ["changed-since-count", 1, "R5"],
  },
  {
    name: "an older version of a later batch with other dates",
    plant: async ({ book }) => {
      await book("R5", stay(20, 23), "2026-07-01T00:00:00Z");
      await book("R5", stay(0, 3), BOOKED);
    },
    sold: [5, 5, 5],
    finds: ["stale", 1, "R5", "R5"],
  },
  {
    name: "an older version further on in the batch",
    plant: ({ of }) =>
      send("reservations", [
        reservation("R5", "2026-07-01T00:00:00Z", { ...of, ...stay(20, 23) }),
        reservation("R5", BOOKED, { ...of, ...stay(0, 3) }),
      ]),
    sold: [5, 5, 5],
    finds: ["stale", 1, "R5", "R5"],
  },
  {
    name: "an older version of a later batch with more rooms",
    plant: async ({ book }) => {
      await book("R5", stay(0, 3), "2026-07-01T00:00:00Z");
      await book("R5", { ...stay(0, 3), numberOfRooms: 3 }, BOOKED);
    },
    sold: [7, 7, 7],
    finds: ["stale", 2, "R5", "R5"],
  },
  {
    name: "parts that do not add up",
    plant: ({ book }) => book("R5", { ...stay(0, 3), status: "CANCELLED" }),
    sold: [5, 5, 5],
    count: { transientSold: 4, groupSold: 0 },
    finds: ["wrong-sold-count", 1, on(1)],
  },
  {
    name: "a room type that the record lists twice",
    plant: async () => undefined,
    sold: [6, 6, 6],
    others: [{ roomTypeCode: "DLX", roomTypeCapacity: 20, roomsSold: 2 }],
    finds: ["wrong-sold-count", 2, on(1)],
  },
];

test("the planted cause of a difference is its first finding, with its records and what to do", async () => {
  const hotels: Hotel[] = [];
  const wrong: unknown[] = [];
  for (const [number, one] of CASES.entries()) {
    const hotel = await hotelOf(`CAUSE${number}`);
    await one.plant(hotel);
    const twice = (one.others ?? []).reduce((sum, { roomsSold }) => sum + Number(roomsSold), 0);
    await hotel.count(
      (one.sold ?? []).map((sold) => sold - twice),
      one.count,
      one.others,
    );
    await one.after?.(hotel);
    hotels.push(hotel);
  }
  for (const [number, one] of CASES.entries()) {
    const { findings } = await (hotels[number] as Hotel).night();
    const [first] = findings;
    const [, , ...keys] = one.finds;
    const named = first?.records.map(({ key }) => key) ?? [];
    const found = [first?.kind, first?.rooms, ...(keys.length === 0 ? [] : named)];
    const says = first?.message ?? "";
    if (JSON.stringify(found) !== JSON.stringify(one.finds) || /no record|any record/.test(says))
      wrong.push({
        ...one,
        found,
        says,
        findings: findings.map(({ kind, rooms: of, roomType }) => [kind, of, roomType]),
      });
    assert.match(first?.action ?? "", /^[A-Z].*\.$/, one.name);
  }
  assert.deepEqual(wrong, []);
});

test("seven nights that lack a rejected reservation name it, not another guest's, until it is sent right", async () => {
  const { of, book, count, night } = await hotelOf("ROW11");
  await book("R1127", { ...stay(2, 4), status: "CANCELLED" });
  const invalid = reservation("R1200", BOOKED, { ...of, ...stay(0, 7), numberOfRooms: "1 room" });
  const requestId = await send(
    "reservations",
    [reservation("B1", BOOKED, { ...of, ...stay(0, 3) }), invalid],
    LENIENT,
  );
  await count([5, 5, 5, 1, 1, 1, 1]);
  for (const day of [0, 2, 6]) {
    const [first] = (await night(day)).findings;
    const { kind, nights, nightsExplained, records, action } = first ?? {};
    assert.deepEqual([kind, nights, nightsExplained], ["rejected", 7, 7]);
    assert.deepEqual(records, [{ resource: "reservations", key: "R1200", requestId, index: 1 }]);
    assert.equal(action, "Correct the record and send it again.");
  }
  // The corrected one has other nights: the rejected one no longer explains anything.
  await book("R1200", stay(20, 22), "2026-07-02T00:00:00Z");
  assert.ok((await night(6)).findings.every(({ kind }) => kind !== "rejected"));
});
