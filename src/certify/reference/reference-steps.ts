import { randomUUID } from "node:crypto";
import { datesFrom } from "../fields.ts";
import { groupOf, inventoryOf, reservationOf } from "./hotel.ts";
import { type Integration, inDays, minutesAgo, readStanding, waitAsTold } from "./integration.ts";

/** Does one step of the checklist, and leaves to the service what to say of it. */
export type ReferenceStep = (on: Integration) => Promise<void>;

const inventory: ReferenceStep = async (on) => {
  const week = datesFrom(on.today, 7).map((date) => inventoryOf(on.hotel, date, minutesAgo(1), 20));
  await on.bellhop.inventories.send(week);
};

const reservation: ReferenceStep = async (on) => {
  const booking = { id: `${on.run}-WHOLE`, modifiedAt: minutesAgo(9), arrival: inDays(on, 10), nights: 2 };
  await on.bellhop.reservations.send([reservationOf(on.hotel, booking)]);
};

const group: ReferenceStep = async (on) => {
  await on.bellhop.groups.send([groupOf(on.hotel, `${on.run}-GRP`, minutesAgo(9), inDays(on, 20), 0)]);
};

/** The same reservation again, whole, a night longer, and with the time of that change. */
const modification: ReferenceStep = async (on) => {
  const booking = { id: `${on.run}-MOD`, arrival: inDays(on, 11) };
  const { reservations } = on.bellhop;
  await reservations.send([reservationOf(on.hotel, { ...booking, modifiedAt: minutesAgo(9), nights: 2 })]);
  await reservations.send([reservationOf(on.hotel, { ...booking, modifiedAt: minutesAgo(5), nights: 3 })]);
};

const cancellation: ReferenceStep = async (on) => {
  const booking = { id: `${on.run}-CXL`, arrival: inDays(on, 12), nights: 2 };
  const cancelledAt = minutesAgo(5);
  const { reservations } = on.bellhop;
  await reservations.send([reservationOf(on.hotel, { ...booking, modifiedAt: minutesAgo(9) })]);
  await reservations.send([reservationOf(on.hotel, { ...booking, modifiedAt: cancelledAt, cancelledAt })]);
};

const share: ReferenceStep = async (on) => {
  const room = { id: `${on.run}-ROOM204`, roomNumber: "204" };
  const stay = { modifiedAt: minutesAgo(9), arrival: inDays(on, 13), nights: 2, adults: 1, share: room };
  await on.bellhop.reservations.send(
    ["A", "B"].map((guest) => reservationOf(on.hotel, { ...stay, id: `${on.run}-SHARE-${guest}` })),
  );
};

/** The group again once a room of its block is booked. */
const groupPickup: ReferenceStep = async (on) => {
  const code = `${on.run}-PICKUP`;
  const start = inDays(on, 20);
  const { groups, reservations } = on.bellhop;
  await groups.send([groupOf(on.hotel, code, minutesAgo(9), start, 0)]);
  const booking = { id: `${on.run}-GUEST`, modifiedAt: minutesAgo(7), arrival: start, nights: 3 };
  await reservations.send([reservationOf(on.hotel, { ...booking, block: code })]);
  await groups.send([groupOf(on.hotel, code, minutesAgo(6), start, 1)]);
};

const dayUse: ReferenceStep = async (on) => {
  const booking = { id: `${on.run}-DAY`, modifiedAt: minutesAgo(9), arrival: inDays(on, 14), nights: 0 };
  await on.bellhop.reservations.send([reservationOf(on.hotel, booking)]);
};

/** Quantities as texts of digits, where other steps send them as numbers. */
const nullAndNumbers: ReferenceStep = async (on) => {
  const booking = { id: `${on.run}-NULL`, modifiedAt: minutesAgo(9), arrival: inDays(on, 15), nights: 1 };
  const sent = reservationOf(on.hotel, booking);
  const roomStays = sent.roomStays.map((stay) => ({ ...stay, numberOfAdults: "2", numberOfChildren: "0" }));
  await on.bellhop.reservations.send([{ ...sent, numberOfRooms: "1", roomStays }]);
};

const outOfOrder: ReferenceStep = async (on) => {
  const booking = { id: `${on.run}-LATE`, arrival: inDays(on, 16), nights: 2 };
  const versions = [1, 2, 3].map((adults) =>
    reservationOf(on.hotel, { ...booking, adults, modifiedAt: minutesAgo(10 - adults) }),
  );
  for (const at of [0, 2, 1]) await on.bellhop.reservations.send(versions.slice(at, at + 1));
};

/** As if the first answer had been lost: the same bytes under the same key. */
const retry: ReferenceStep = async (on) => {
  const booking = { id: `${on.run}-RETRY`, modifiedAt: minutesAgo(9), arrival: inDays(on, 17), nights: 1 };
  const body = JSON.stringify([reservationOf(on.hotel, booking)]);
  const headers = { "content-type": "application/json", "idempotency-key": randomUUID() };
  for (const _attempt of [1, 2]) await post(on, "reservations", { headers, body });
};

/** Posts once, and again after the wait that a 429 asks for. Throws what else is not a 202. */
async function post(on: Integration, resource: string, init: RequestInit): Promise<void> {
  const response = await on.bellhop.fetch(`/api/public/v1/${resource}`, { method: "POST", ...init });
  const text = await response.text();
  if (response.status === 202) return;
  if (response.status !== 429) throw new Error(`${resource} were answered ${response.status}: ${text}`);
  await waitAsTold(response);
  await post(on, resource, init);
}

/** Requests that are sent at once to find the limit: no more than the service forgives as being on their way. */
const AT_ONCE = 10;
const ROUNDS_MAX = 200;

/** Small batches until there is a 429, then the wait that it asks for, then one more. */
const rateLimit: ReferenceStep = async (on) => {
  const headers = { "content-type": "application/json" };
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    // Each a batch of its own: the same one again would be a retry without its key.
    const batches = datesFrom(on.today, AT_ONCE).map((date) => [
      inventoryOf(on.hotel, date, minutesAgo(1), 20),
    ]);
    const answers = await Promise.all(
      batches.map(async (batch) => {
        const init = { method: "POST", headers, body: JSON.stringify(batch) };
        const response = await on.bellhop.fetch("/api/public/v1/inventories", init);
        await response.body?.cancel();
        return response;
      }),
    );
    const refused = answers.find(({ status }) => status === 429);
    if (refused === undefined) continue;
    await waitAsTold(refused);
    const body = JSON.stringify([inventoryOf(on.hotel, on.today, minutesAgo(0), 20)]);
    await post(on, "inventories", { headers, body });
    return;
  }
  throw new Error(`No 429 came for ${AT_ONCE * ROUNDS_MAX} requests: is a certification open?`);
};

const COLD_START_DATES = 90;

const coldStart: ReferenceStep = async (on) => {
  const dates = datesFrom(inDays(on, 30), COLD_START_DATES);
  await on.bellhop.inventories.send(dates.map((date) => inventoryOf(on.hotel, date, minutesAgo(1), 5)));
  await on.bellhop.reservations.send(
    dates.slice(0, 12).map((arrival, at) =>
      reservationOf(on.hotel, {
        id: `${on.run}-COLD${at}`,
        modifiedAt: minutesAgo(30),
        arrival,
        nights: 2,
      }),
    ),
  );
};

/** Each evening the inventory of the day and of the two weeks ahead, each noon a booking. */
const sevenDays: ReferenceStep = async (on) => {
  for (const day of datesFrom(inDays(on, -7), 7)) {
    const booking = { id: `${on.run}-${day}`, modifiedAt: `${day}T12:00:00Z`, arrival: day, nights: 2 };
    await on.bellhop.reservations.send([reservationOf(on.hotel, booking)]);
    await on.bellhop.inventories.send(
      datesFrom(day, 14).map((date) => inventoryOf(on.hotel, date, `${day}T23:00:00Z`, 10)),
    );
  }
};

/** Sends with the client's one token until that was renewed. The client renews it by itself, before it ends. */
const tokenUse: ReferenceStep = async (on) => {
  for (;;) {
    const step = (await readStanding(on.bellhop)).steps.find(({ step }) => step === "token-use");
    if (step === undefined || step.result !== "not-yet") return;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
};

/** The reference integration: each step of the checklist done right. Any order does; the last takes as long as a token lives. */
export const REFERENCE_STEPS = {
  inventory,
  reservation,
  group,
  modification,
  cancellation,
  share,
  "group-pickup": groupPickup,
  "day-use": dayUse,
  "null-and-numbers": nullAndNumbers,
  "out-of-order": outOfOrder,
  retry,
  "rate-limit": rateLimit,
  "cold-start": coldStart,
  "seven-days": sevenDays,
  "token-use": tokenUse,
} as const satisfies Readonly<Record<string, ReferenceStep>>;
