import { randomUUID } from "node:crypto";
import { datesFrom } from "#contract/dates.ts";
import type { ReferenceStep } from "../../src/certification/reference/run-reference.ts";
import {
  groupOf,
  type Integration,
  inDays,
  inventoryOf,
  minutesAgo,
  reservationOf,
} from "../../src/certification/reference/run-reference.ts";
import type { LooseRecord } from "../support/records.ts";

/** Posts as the integration does, without waiting or trying again; answers the status. */
async function postOnce(on: Integration, resource: string, records: unknown, key?: string): Promise<number> {
  const response = await on.bellhop.fetch(`/api/public/v1/${resource}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(key === undefined ? {} : { "idempotency-key": key }) },
    body: JSON.stringify(records),
  });
  await response.body?.cancel();
  return response.status;
}

/** Posts until it is accepted. */
async function post(on: Integration, resource: string, records: unknown, key?: string): Promise<void> {
  for (;;) {
    const status = await postOnce(on, resource, records, key);
    if (status === 202) return;
    if (status !== 429) throw new Error(`${resource} were answered ${status}`);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
  }
}

function bookingOf(on: Integration, days: number, minutes = 9) {
  return { id: `${on.run}-WRONG`, modifiedAt: minutesAgo(minutes), arrival: inDays(on, days), nights: 2 };
}

const UNDER_WAY = 60;

/** One step each done wrong, as integrations do. The rest of them is the reference's. */
export const PLANTED: Readonly<Record<string, ReferenceStep>> = {
  /** Rooms of groups are counted in transientSold as well; of dates that no other step sends again. */
  async inventory(on) {
    const week = datesFrom(inDays(on, 20), 7).map(
      (date): LooseRecord => inventoryOf(on.hotel, date, minutesAgo(1), 20),
    );
    for (const { roomTypeInventories } of week) roomTypeInventories[0].groupSold = 5;
    await post(on, "inventories", week);
  },
  /** The day's total leaves out the food. */
  async reservation(on) {
    const record: LooseRecord = reservationOf(on.hotel, bookingOf(on, 10));
    for (const day of record["stayRevenue"].daily) day.netTotalRevenue = day.netRoomRevenue;
    await post(on, "reservations", [record]);
  },
  /** The block goes on after the group has left. */
  async group(on) {
    const record = groupOf(on.hotel, `${on.run}-GRP`, minutesAgo(9), inDays(on, 20), 0);
    await post(on, "groups", [{ ...record, endDate: inDays(on, 21) }]);
  },
  /** The time of the booking stands for the time of every change. */
  async modification(on) {
    const booking = bookingOf(on, 11);
    for (const nights of [2, 3])
      await post(on, "reservations", [reservationOf(on.hotel, { ...booking, nights })]);
  },
  /** The status says it, and nothing says when. */
  async cancellation(on) {
    await post(on, "reservations", [reservationOf(on.hotel, bookingOf(on, 12))]);
    const record = reservationOf(on.hotel, { ...bookingOf(on, 12, 5), cancelledAt: minutesAgo(5) });
    await post(on, "reservations", [{ ...record, cancellationDateTime: null }]);
  },
  /** Each guest has a shareId of its own. */
  async share(on) {
    const guests = ["A", "B"].map((guest) => ({
      ...bookingOf(on, 13),
      id: `${on.run}-WRONG-${guest}`,
      share: { id: `${on.run}-${guest}`, roomNumber: "204" },
    }));
    await post(
      on,
      "reservations",
      guests.map((guest) => reservationOf(on.hotel, guest)),
    );
  },
  /** The group comes again as it was first. */
  async "group-pickup"(on) {
    const start = inDays(on, 20);
    const group = (minutes: number) => [groupOf(on.hotel, `${on.run}-PICKUP`, minutesAgo(minutes), start, 0)];
    await post(on, "groups", group(9));
    const booking = { ...bookingOf(on, 20, 8), block: `${on.run}-PICKUP` };
    await post(on, "reservations", [reservationOf(on.hotel, booking)]);
    await post(on, "groups", group(7));
  },
  /** No night, so no revenue. */
  async "day-use"(on) {
    const record: LooseRecord = reservationOf(on.hotel, { ...bookingOf(on, 14), nights: 0 });
    record["stayRevenue"].daily = [];
    await post(on, "reservations", [record]);
  },
  /** An empty text where there is no number. */
  async "null-and-numbers"(on) {
    const record: LooseRecord = reservationOf(on.hotel, bookingOf(on, 15));
    record["roomStays"][0].numberOfChildren = "";
    while ((await postOnce(on, "reservations", [record])) === 429)
      await new Promise((resolve) => setTimeout(resolve, 3_000));
  },
  /** Every message is stamped when it is sent. */
  async "out-of-order"(on) {
    for (const adults of [1, 3, 2])
      await post(on, "reservations", [
        reservationOf(on.hotel, { ...bookingOf(on, 16), modifiedAt: minutesAgo(0), adults }),
      ]);
  },
  /** Every attempt has a key of its own. */
  async retry(on) {
    const record = reservationOf(on.hotel, bookingOf(on, 17));
    for (const _attempt of [1, 2]) await post(on, "reservations", [record], randomUUID());
  },
  /** A 429 is answered by trying again at once. */
  async "rate-limit"(on) {
    const flood = () =>
      Promise.all(
        Array.from({ length: UNDER_WAY }, (_, at) =>
          postOnce(on, "inventories", [inventoryOf(on.hotel, inDays(on, at), minutesAgo(1), 20)]),
        ),
      );
    while (!(await flood()).includes(429));
    // What comes right behind the 429 may have been on its way.
    for (const end = performance.now() + 800; performance.now() < end; ) await flood();
  },
  /** Dates on which nothing is sold are left out. */
  async "cold-start"(on) {
    const dates = datesFrom(inDays(on, 30), 90).filter((_, at) => at !== 41);
    await post(
      on,
      "inventories",
      dates.map((date) => inventoryOf(on.hotel, date, minutesAgo(1), 5)),
    );
    await post(
      on,
      "reservations",
      dates
        .slice(0, 12)
        .map((arrival, at) =>
          reservationOf(on.hotel, { ...bookingOf(on, 0), id: `${on.run}-COLD${at}`, arrival }),
        ),
    );
  },
  /** One night's push never ran. */
  async "seven-days"(on) {
    for (const [at, day] of datesFrom(inDays(on, -7), 7).entries()) {
      const booking = { id: `${on.run}-${day}`, modifiedAt: `${day}T12:00:00Z`, arrival: day, nights: 2 };
      await post(on, "reservations", [reservationOf(on.hotel, booking)]);
      const ahead = datesFrom(day, 14).map((date) => inventoryOf(on.hotel, date, `${day}T23:00:00Z`, 10));
      if (at !== 3) await post(on, "inventories", ahead);
    }
  },
};
