import { randomBytes, randomUUID } from "node:crypto";
import {
  BellhopClient,
  type BellhopClientOptions,
  type Group,
  type Inventory,
  type Reservation,
} from "#client";
import { addDays, datesFrom } from "#contract/dates.ts";
import type { Report } from "../report.ts";

/** The property that the example data is sent for. */
interface Hotel {
  readonly clientCode: string;
  readonly propertyCode: string;
}

const ROOM_TYPES = [
  { code: "STD", rooms: 40 },
  { code: "DLX", rooms: 12 },
] as const;
const NIGHTLY_RATE = "129.90";

/** Inventory of one date, created at `madeAt`, with `sold` rooms of each type. */
export function inventoryOf(hotel: Hotel, date: string, madeAt: string, sold: number): Inventory {
  return {
    ...hotel,
    createDateTime: madeAt,
    occupancyDate: date,
    roomTypeInventories: ROOM_TYPES.map(({ code, rooms }) => ({
      roomTypeCode: code,
      roomTypeCapacity: rooms,
      roomsNotAvailableMaintenance: 0,
      roomsNotAvailableOther: 0,
      roomsSold: sold,
      transientSold: sold,
      groupSold: 0,
    })),
  };
}

/** The varying fields of a reservation. */
interface Booking {
  readonly id: string;
  /** When it was created or changed in the PMS. */
  readonly modifiedAt: string;
  readonly arrival: string;
  readonly nights: number;
  readonly adults?: number;
  readonly block?: string;
  readonly share?: { readonly id: string; readonly roomNumber: string };
  readonly cancelledAt?: string;
}

/** A complete reservation: null where allowed, amounts as strings, revenue for each night. */
export function reservationOf(hotel: Hotel, booking: Booking): Reservation {
  const { id, modifiedAt, arrival, nights, adults = 2, block, share, cancelledAt } = booking;
  const departure = addDays(arrival, nights);
  // A day use has no night; its revenue is on its day.
  const revenueDates = nights === 0 ? [arrival] : datesFrom(arrival, nights);
  return {
    ...hotel,
    lastModifiedDateTime: modifiedAt,
    reservationId: id,
    confirmationNumber: id,
    status: cancelledAt === undefined ? "CONFIRMED" : "CANCELLED",
    bookingDateTime: "2026-01-15T09:30:00Z",
    numberOfRooms: 1,
    multiReservationId: null,
    ...(share === undefined ? {} : { shareId: share.id }),
    cancellationDateTime: cancelledAt ?? null,
    cancellationReason: cancelledAt === undefined ? null : "GUEST",
    channel: "WEB",
    nationality: "PT",
    roomStays: [
      {
        arrivalDate: arrival,
        departureDate: departure,
        roomTypeCode: "STD",
        bookedRoomTypeCode: "STD",
        marketSegmentCode: block === undefined ? "LEISURE" : "GROUP",
        ...(block === undefined ? {} : { groupBlockCode: block }),
        ...(share === undefined ? {} : { roomNumber: share.roomNumber }),
        sourceBookingCode: "WEB",
        numberOfAdults: adults,
        numberOfChildren: 0,
        currencyCode: "EUR",
        rateCode: "BAR",
        rates: [
          { startDate: arrival, endDate: departure, rateValue: NIGHTLY_RATE, grossRateValue: "142.89" },
        ],
      },
    ],
    stayRevenue: {
      daily: revenueDates.map((occupancyDate) => ({
        occupancyDate,
        netRoomRevenue: NIGHTLY_RATE,
        netFoodRevenue: "12.50",
        netTotalRevenue: "142.40",
      })),
    },
  };
}

/** A group of three nights with ten rooms a night, `pickup` of them picked up. */
export function groupOf(
  hotel: Hotel,
  code: string,
  modifiedAt: string,
  start: string,
  pickup: number,
): Group {
  const nights = datesFrom(start, 3);
  return {
    ...hotel,
    lastModifiedDateTime: modifiedAt,
    groupCode: code,
    masterGroupCode: null,
    name: "Walking club",
    groupStatusCode: "DEFINITE",
    bookingDate: "2026-01-10",
    startDate: start,
    endDate: nights.at(-1) ?? start,
    cutoffDate: null,
    marketSegmentCode: "GROUP",
    rateCode: "GRP",
    groupBlocks: nights.map((occupancyDate) => ({
      occupancyDate,
      roomTypeCode: "STD",
      blocks: 10,
      pickup,
      originalBlocks: 10,
      singlePersonRate: "99.00",
      currencyCode: "EUR",
    })),
  };
}

/** An integration under certification. */
export interface Integration {
  readonly bellhop: BellhopClient;
  /** Called before a wait, with its duration if known. */
  onWait(reason: string, times: WaitTimes): void;
  readonly hotel: Hotel;
  /** The UTC date on which the certification was opened. */
  readonly today: string;
  /** Distinguishes the keys of this run from other runs. */
  readonly run: string;
}

interface WaitTimes {
  readonly ms?: number;
  readonly givesUpInMs?: number | undefined;
}

type Asking = Pick<Integration, "bellhop" | "onWait">;

/** A timestamp `minutes` ago: changes in a PMS lie in the past. */
export function minutesAgo(minutes: number): string {
  return new Date(Date.now() - minutes * 60_000).toISOString();
}

/** The date `days` after the certification was opened. */
export function inDays({ today }: Integration, days: number): string {
  return addDays(today, days);
}

/** The report of the client's own certification. Throws if there is none or the request fails. */
async function readStanding(on: Asking): Promise<Report> {
  const text = await ask(on, "certification");
  const { certification } = JSON.parse(text) as { certification: Report | null };
  if (certification === null)
    throw new Error(
      "No certification of this client was opened (bellhop certify start --client-id CLIENT_ID).",
    );
  return certification;
}

/** Sends a request, again after the wait of a 429; returns the body. Throws for any other error. */
async function ask(on: Asking, path: string, init?: RequestInit): Promise<string> {
  const response = await on.bellhop.fetch(`/api/public/v1/${path}`, init);
  const text = await response.text();
  if (response.ok) return text;
  if (response.status !== 429) throw new Error(`${path} was answered ${response.status}: ${text}`);
  await waitRetryAfter(on, response);
  return await ask(on, path, init);
}

async function waitRetryAfter({ onWait }: Asking, response: Response): Promise<void> {
  const seconds = Number(response.headers.get("retry-after") ?? 1);
  onWait("the request rate is exceeded.", { ms: seconds * 1000 });
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}

/** Creates an integration for the property of the certification. */
export async function openIntegration(
  bellhop: BellhopClient,
  onWait: Integration["onWait"] = () => undefined,
): Promise<Integration> {
  const { property, openedAt } = await readStanding({ bellhop, onWait });
  return {
    bellhop,
    onWait,
    hotel: property,
    today: openedAt.slice(0, 10),
    run: randomBytes(4).toString("hex"),
  };
}

/** Performs one step of the checklist. */
export type ReferenceStep = (on: Integration) => Promise<unknown>;

/** A reservation of this run that arrives `days` after the certification was opened. */
function book(
  { run, today, hotel }: Integration,
  id: string,
  days: number,
  more: Partial<Booking> = {},
): Reservation {
  const arrival = addDays(today, days);
  return reservationOf(hotel, { id: `${run}-${id}`, modifiedAt: minutesAgo(9), arrival, nights: 2, ...more });
}

const inventory: ReferenceStep = (on) =>
  on.bellhop.inventories.send(
    datesFrom(on.today, 7).map((date) => inventoryOf(on.hotel, date, minutesAgo(1), 20)),
  );

/** Sends versions of reservations in order, one batch each. */
async function sendEach({ bellhop }: Integration, ...versions: readonly Reservation[]): Promise<void> {
  for (const version of versions) await bellhop.reservations.send([version]);
}

const group: ReferenceStep = (on) =>
  on.bellhop.groups.send([groupOf(on.hotel, `${on.run}-GRP`, minutesAgo(9), inDays(on, 20), 0)]);

/** Sends the complete reservation again, one night longer and with the time of the change. */
const modification: ReferenceStep = (on) =>
  sendEach(on, book(on, "MOD", 11), book(on, "MOD", 11, { modifiedAt: minutesAgo(5), nights: 3 }));

const cancellation: ReferenceStep = (on) => {
  const cancelledAt = minutesAgo(5);
  return sendEach(on, book(on, "CXL", 12), book(on, "CXL", 12, { modifiedAt: cancelledAt, cancelledAt }));
};

const share: ReferenceStep = (on) => {
  const room = { adults: 1, share: { id: `${on.run}-ROOM204`, roomNumber: "204" } };
  return on.bellhop.reservations.send([book(on, "SHARE-A", 13, room), book(on, "SHARE-B", 13, room)]);
};

/** Sends the group again after a room of its block is booked. */
const groupPickup: ReferenceStep = async (on) => {
  const code = `${on.run}-PICKUP`;
  const start = inDays(on, 20);
  const { groups, reservations } = on.bellhop;
  await groups.send([groupOf(on.hotel, code, minutesAgo(9), start, 0)]);
  await reservations.send([book(on, "GUEST", 20, { modifiedAt: minutesAgo(7), nights: 3, block: code })]);
  await groups.send([groupOf(on.hotel, code, minutesAgo(6), start, 1)]);
};

/** Sends quantities as numeric strings, unlike other steps. */
const nullAndNumbers: ReferenceStep = (on) => {
  const sent = book(on, "NULL", 15, { nights: 1 });
  const roomStays = sent.roomStays.map((stay) => ({ ...stay, numberOfAdults: "2", numberOfChildren: "0" }));
  return on.bellhop.reservations.send([{ ...sent, numberOfRooms: "1", roomStays }]);
};

const outOfOrder: ReferenceStep = (on) => {
  const version = (adults: number) => book(on, "LATE", 16, { adults, modifiedAt: minutesAgo(10 - adults) });
  return sendEach(on, version(1), version(3), version(2));
};

/** Sends the same bytes again under the same key, as after a lost response. */
const retry: ReferenceStep = async (on) => {
  const body = JSON.stringify([book(on, "RETRY", 17, { nights: 1 })]);
  const headers = { "content-type": "application/json", "idempotency-key": randomUUID() };
  for (const _attempt of [1, 2]) await ask(on, "reservations", { method: "POST", headers, body });
};

/** Concurrent requests to reach the limit: no more than may be in flight when a 429 is sent. */
const AT_ONCE = 10;
const ROUNDS_MAX = 200;

/** Sends small batches until there is a 429, waits for Retry-After, and sends one more. */
const rateLimit: ReferenceStep = async (on) => {
  const headers = { "content-type": "application/json" };
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    // Different batches, because repeating one would be a retry without its key.
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
    await waitRetryAfter(on, refused);
    const body = JSON.stringify([inventoryOf(on.hotel, on.today, minutesAgo(0), 20)]);
    await ask(on, "inventories", { method: "POST", headers, body });
    return;
  }
  throw new Error(`${AT_ONCE * ROUNDS_MAX} requests got no 429. Is a certification open?`);
};

const COLD_START_DATES = 90;

const coldStart: ReferenceStep = async (on) => {
  const dates = datesFrom(inDays(on, 30), COLD_START_DATES);
  await on.bellhop.inventories.send(dates.map((date) => inventoryOf(on.hotel, date, minutesAgo(1), 5)));
  const booked = dates
    .slice(0, 12)
    .map((_, at) => book(on, `COLD${at}`, 30 + at, { modifiedAt: minutesAgo(30) }));
  await on.bellhop.reservations.send(booked);
};

/** Each evening the inventory of the day and two weeks ahead, each noon a booking. */
const sevenDays: ReferenceStep = async (on) => {
  for (const [at, day] of datesFrom(inDays(on, -7), 7).entries()) {
    await sendEach(on, book(on, day, at - 7, { modifiedAt: `${day}T12:00:00Z` }));
    const ahead = datesFrom(day, 14).map((date) => inventoryOf(on.hotel, date, `${day}T23:00:00Z`, 10));
    await on.bellhop.inventories.send(ahead);
  }
};

/** Sends with the client's token until the client has renewed it. */
const tokenUse: ReferenceStep = async (on) => {
  for (;;) {
    const step = (await readStanding(on)).steps.find(({ step }) => step === "token-use");
    if (step === undefined || step.result !== "not-yet") return;
    on.onWait(step.reason, {});
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
};

/** The reference integration: every step of the checklist done correctly, in any order. The last takes as long as a token lives. */
export const REFERENCE_STEPS = {
  inventory,
  reservation: (on) => sendEach(on, book(on, "WHOLE", 10)),
  group,
  modification,
  cancellation,
  share,
  "group-pickup": groupPickup,
  "day-use": (on) => sendEach(on, book(on, "DAY", 14, { nights: 0 })),
  "null-and-numbers": nullAndNumbers,
  "out-of-order": outOfOrder,
  retry,
  "rate-limit": rateLimit,
  "cold-start": coldStart,
  "seven-days": sevenDays,
  "token-use": tokenUse,
} as const satisfies Readonly<Record<string, ReferenceStep>>;

/** Service address and credentials of the reference integration. */
export type ReferenceOptions = Pick<
  BellhopClientOptions,
  "baseUrl" | "authUrl" | "clientId" | "clientSecret"
>;

/** Runs the checklist and returns the report once every record has an outcome. `onStep` is called before each step. */
export async function runReference(
  options: ReferenceOptions,
  onStep: (step: string) => void,
  onWait: Integration["onWait"],
): Promise<Report> {
  const bellhop = new BellhopClient({ ...options, onWait: ({ reason, ...times }) => onWait(reason, times) });
  const integration = await openIntegration(bellhop, onWait);
  for (const [name, step] of Object.entries(REFERENCE_STEPS)) {
    onStep(name);
    await step(integration);
  }
  for (;;) {
    const standing = await readStanding(integration);
    if (standing.observed.pending === 0) return standing;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
