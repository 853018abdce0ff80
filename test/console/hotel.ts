import { openCertification } from "../../src/certification/certification.ts";
import { setSetting } from "../../src/settings/change-setting.ts";
import { apply } from "../support/read-fixture.ts";
import type { TestService } from "../support/service.ts";
import { untilFound } from "../support/until.ts";
import { SeededRandom } from "../workload/seeded-random.ts";

/**
 * A made-up hotel that the console's tests and screenshots look at: two years of bookings around a day, inventory with three nights
 * left out and two counts that are wrong, a group, and one record each of what an operator has to look at.
 */
export interface Hotel {
  /** The day around which everything lies; UTC. */
  readonly today: string;
  readonly clientCode: "ACME";
  readonly propertyCode: "PARIS01";
  /** A request whose record 1 is quarantined, because its source time lies in the future. */
  readonly quarantinedRequestId: string;
  readonly quarantinedKey: "R-FUTURE";
  /** A lenient request with a record that was rejected and one with a warning. */
  readonly lenientRequestId: string;
  /** A reservation with several versions, one of which came late. */
  readonly changedKey: "R-CHANGED";
  /** A night whose count is three rooms too high. */
  readonly wrongNight: string;
  readonly missingNights: readonly string[];
  /** A webhook endpoint that fails, with a delivery log and a dead letter. */
  readonly endpointId: string;
  /** An open backfill of which nothing has come. */
  readonly backfillId: string;
  /** An open certification with a failed check, the cancellation, and some passed ones. */
  readonly certificationId: string;
}

const DAY_MS = 86_400_000;
const CAPACITY = 120;
const SEGMENTS = ["LEISURE", "CORPORATE", "OTA"];
const CHANNELS = ["DIRECT", "WEB", "GDS"];
const ROOM_TYPES = ["STD", "DLX", "SUI"];
const NIGHTS_AHEAD = 120;

type Row = Record<string, unknown>;

interface Booking {
  readonly arrival: number;
  readonly nights: number;
  readonly rooms: number;
  readonly roomType: string;
  readonly bookedDay: number;
  readonly cancelledDay: number | null;
  readonly rate: string;
}

const NEIGHBOURS = [
  ["LYON01", "Hôtel du Fleuve", "Lyon"],
  ["NICE01", "Villa Azur", "Nice"],
  ["LILLE01", "Le Beffroi", "Lille"],
  ["BREST01", "Port du Large", "Brest"],
] as const;

function calendarAround(today: string) {
  const zero = Date.parse(`${today}T00:00:00Z`) / DAY_MS;
  const dateOf = (day: number) => new Date((zero + day) * DAY_MS).toISOString().slice(0, 10);
  const at = (day: number, minute = 600) => new Date((zero + day) * DAY_MS + minute * 60_000).toISOString();
  return { dateOf, at };
}

/** Four more hotels with bookings of their own, and a name and a city for each: a portfolio to take a picture of. */
export async function fillNeighbours(service: TestService, { today, ...first }: Hotel): Promise<void> {
  const { dateOf, at } = calendarAround(today);
  for (const [place, [propertyCode]] of NEIGHBOURS.entries()) {
    const bookings = inventBookings(place + 1);
    const ofHotel = (rows: readonly Row[]) => rows.map((row) => ({ ...row, propertyCode }));
    const versions = bookings.flatMap((booking, number) => versionsOf(booking, number, dateOf, at));
    await sendInBatches(service, "reservations", ofHotel(versions.toSorted(byModified)), 400);
    await apply(service, "inventories", ofHotel(inventories(bookings, [], NIGHTS_AHEAD, dateOf, at)));
  }
  const named = [...NEIGHBOURS, [first.propertyCode, "Grand Hôtel de la Gare", "Paris"]] as const;
  for (const [propertyCode, name, city] of named) {
    await setSetting(service.pool, { clientCode: "ACME", propertyCode, name: "name" }, name);
    await setSetting(service.pool, { clientCode: "ACME", propertyCode, name: "city" }, city);
  }
}

/** Fills a service with it through the API. Takes some seconds. */
export async function fillHotel(
  service: TestService,
  today = new Date().toISOString().slice(0, 10),
): Promise<Hotel> {
  const { dateOf, at } = calendarAround(today);
  const certificationId = await certify(service, dateOf, at);
  const bookings = inventBookings();
  const versions = bookings.flatMap((booking, place) => versionsOf(booking, place, dateOf, at));
  await sendInBatches(service, "reservations", versions.toSorted(byModified), 400);
  const missing = [33, 34, 61];
  const wrongDay = 9;
  await sendInBatches(service, "inventories", inventories(bookings, missing, wrongDay, dateOf, at), 120);
  await send(service, "groups", [group(dateOf, at)]);
  await sendChanged(service, dateOf, at);
  const lenientRequestId = await sendLenient(service, dateOf, at);
  const quarantinedRequestId = await send(service, "reservations", [
    reservation("R-WALK", at(-1), { status: "WALK IN" }, dateOf(6), dateOf(8)),
    reservation("R-FUTURE", at(40), { status: "CONFIRMED" }, dateOf(12), dateOf(15)),
  ]);
  await untilAllApplied(service, quarantinedRequestId);
  return {
    today,
    clientCode: "ACME",
    propertyCode: "PARIS01",
    quarantinedRequestId,
    quarantinedKey: "R-FUTURE",
    lenientRequestId,
    changedKey: "R-CHANGED",
    wrongNight: dateOf(wrongDay),
    missingNights: missing.map(dateOf),
    endpointId: await registerFailing(service, lenientRequestId),
    backfillId: await openBackfill(service, dateOf),
    certificationId,
  };
}

/** A batch of sixty reservations of another property, all quarantined: more than one page of a list has. */
export async function quarantineMany(
  service: TestService,
): Promise<{ readonly requestId: string; readonly keys: readonly string[] }> {
  const keys = Array.from({ length: 60 }, (_, at) => `R-HELD-${at}`);
  const ahead = new Date(Date.now() + 40 * DAY_MS).toISOString();
  const rows = keys.map((key) => ({
    ...reservation(key, ahead, { status: "CONFIRMED" }, ahead.slice(0, 10), "2099-01-01"),
    propertyCode: "BULK01",
  }));
  return { requestId: await applyAsAnother(service, rows), keys };
}

/** A reservation with a current version, and a later one that is quarantined: its status, a night and its rate changed. */
export async function quarantineChange(service: TestService): Promise<string> {
  const [past, ahead] = [-5, 40].map((days) => new Date(Date.now() + days * DAY_MS).toISOString());
  const of = (modified: string, departure: string, more: Row) => ({
    ...reservation("R-MOVED", modified, more, "2098-12-30", departure),
    propertyCode: "BULK02",
  });
  return applyAsAnother(service, [
    of(String(past), "2099-01-01", { status: "CONFIRMED", correlationId: "a-1" }),
    of(String(ahead), "2099-01-02", { status: "CHECKED IN", correlationId: "a-2" }),
  ]);
}

/** By a client without a webhook, so that the log of deliveries stays as it is. */
async function applyAsAnother(service: TestService, rows: readonly Row[]): Promise<string> {
  const grants = [{ clientCode: "ACME", propertyCode: "*" }];
  return apply(service, "reservations", [...rows], {
    as: await service.newClient({ name: "Harbour PMS", grants }),
  });
}

/** A client of its own, so that no other is held to the limits of a certification; a booking and its cancellation without a time. */
async function certify(
  service: TestService,
  dateOf: (day: number) => string,
  at: (day: number) => string,
): Promise<string> {
  const grants = [{ clientCode: "ACME", propertyCode: "PARIS01" }];
  const as = await service.newClient({ name: "Riverside PMS", grants });
  const admin = { internals: service.service.authenticator.internals, who: "cli:test" };
  const { certificationId } = await openCertification(admin, as.clientId);
  for (const [day, status] of [
    [-50, "CONFIRMED"],
    [-49, "CANCELLED"],
  ] as const) {
    const row = reservation("R-CERTIFIED", at(day), { status }, dateOf(40), dateOf(42));
    await service.post("reservations", [row], { as });
  }
  return certificationId;
}

async function openBackfill(service: TestService, dateOf: (day: number) => string): Promise<string> {
  const body = {
    clientCode: "ACME",
    propertyCode: "PARIS01",
    note: "its first year, again",
    resources: [
      { resource: "inventories", from: dateOf(0), to: dateOf(90), expectedRecords: 91 },
      { resource: "reservations", from: dateOf(-365), to: dateOf(0) },
    ],
  };
  const answer = await service.send("POST", "/api/public/v1/backfills", { body });
  return String(answer.json()["backfillId"]);
}

const byModified = (one: Row, other: Row) =>
  String(one["lastModifiedDateTime"]) < String(other["lastModifiedDateTime"]) ? -1 : 1;

/** Bookings for arrivals from a year and a month ago to four months ahead; last year's a little fewer. */
function inventBookings(place = 0): Booking[] {
  const seeded = new SeededRandom(20_261_122 + place);
  const random = () => seeded.next() / 2 ** 32;
  const below = (end: number) => Math.floor(random() * end);
  const bookings: Booking[] = [];
  for (let arrival = -400; arrival < NIGHTS_AHEAD; arrival += 1) {
    const isPast = arrival < -30;
    const isWeekend = (arrival + 400) % 7 < 2;
    const wanted = (isPast ? 10 : 12) + (isWeekend ? 6 : 0) + below(5);
    // Of a night of months ahead most are yet to be booked.
    for (let each = 0; each < wanted; each += 1) {
      const lead = Math.floor(random() ** 2 * 160);
      const bookedDay = arrival - lead;
      const isCancelled = random() < 0.14;
      const nights = 1 + below(4);
      const roomType = ROOM_TYPES[Math.min(below(5), 2)] ?? "STD";
      const rate = (110 + below(120) + (isWeekend ? 25 : 0)).toFixed(2);
      if (bookedDay >= 0) continue;
      const cancelledDay = isCancelled ? Math.min(bookedDay + below(Math.max(lead, 1)), -1) : null;
      bookings.push({ arrival, nights, rooms: 1, roomType, bookedDay, cancelledDay, rate });
    }
  }
  return bookings;
}

function versionsOf(
  booking: Booking,
  place: number,
  dateOf: (day: number) => string,
  at: (day: number, minute?: number) => string,
): Row[] {
  const { arrival, nights, bookedDay, cancelledDay, roomType, rate } = booking;
  const id = `R-${10_000 + place}`;
  const stay = {
    roomTypeCode: roomType,
    marketSegmentCode: SEGMENTS[place % 3],
    numberOfAdults: 1 + (place % 2),
    currencyCode: "EUR",
    rateCode: "BAR",
    rates: [
      {
        startDate: dateOf(arrival),
        endDate: dateOf(arrival + nights - 1),
        rateValue: rate,
        grossRateValue: rate,
      },
    ],
  };
  const make = (day: number, status: string, minute = 480 + (place % 600)) =>
    reservation(
      id,
      at(day, minute),
      { status, channel: CHANNELS[place % 3] },
      dateOf(arrival),
      dateOf(arrival + nights),
      stay,
    );
  const booked = make(bookedDay, "CONFIRMED");
  if (cancelledDay === null) return [booked];
  // The late evening before today, at the latest: what is ahead of the clock is quarantined.
  const cancelledOn = Math.max(cancelledDay, bookedDay + 1);
  return [booked, cancelledOn < 0 ? make(cancelledOn, "CANCELLED") : make(-1, "CANCELLED", 1380)];
}

function reservation(
  id: string,
  modified: string,
  more: Row,
  arrival: string,
  departure: string,
  stay: Row = {},
): Row {
  return {
    clientCode: "ACME",
    propertyCode: "PARIS01",
    reservationId: id,
    lastModifiedDateTime: modified,
    numberOfRooms: 1,
    ...more,
    roomStays: [{ arrivalDate: arrival, departureDate: departure, roomTypeCode: "DLX", ...stay }],
  };
}

/** Counts as the bookings say, but for one night; and some nights are left out. */
function inventories(
  bookings: readonly Booking[],
  missing: readonly number[],
  wrongDay: number,
  dateOf: (day: number) => string,
  at: (day: number, minute?: number) => string,
): Row[] {
  const rows: Row[] = [];
  for (let day = -7; day < NIGHTS_AHEAD; day += 1) {
    if (missing.includes(day)) continue;
    rows.push({
      clientCode: "ACME",
      propertyCode: "PARIS01",
      createDateTime: at(-1, 1380),
      occupancyDate: dateOf(day),
      roomTypeInventories: ROOM_TYPES.map((roomTypeCode) => {
        const sold = bookings.filter(
          (one) =>
            one.roomType === roomTypeCode &&
            one.cancelledDay === null &&
            one.arrival <= day &&
            day < one.arrival + one.nights,
        ).length;
        const wrong = day === wrongDay && roomTypeCode === "DLX" ? 3 : 0;
        return { roomTypeCode, roomTypeCapacity: CAPACITY / 3, roomsSold: sold + wrong };
      }),
    });
  }
  return rows;
}

function group(dateOf: (day: number) => string, at: (day: number) => string): Row {
  return {
    clientCode: "ACME",
    propertyCode: "PARIS01",
    groupCode: "CARDIO26",
    name: "Cardiology congress",
    groupStatusCode: "DEFINITE",
    lastModifiedDateTime: at(-20),
    startDate: dateOf(20),
    endDate: dateOf(23),
    groupBlocks: [20, 21, 22].map((day) => ({
      occupancyDate: dateOf(day),
      roomTypeCode: "STD",
      blocks: 12,
      pickup: 5,
      originalBlocks: 15,
    })),
  };
}

async function sendChanged(
  service: TestService,
  dateOf: (day: number) => string,
  at: (day: number) => string,
): Promise<void> {
  const version = (day: number, more: Row, until: number) =>
    reservation("R-CHANGED", at(day), more, dateOf(14), dateOf(until), { numberOfAdults: 2 });
  await send(service, "reservations", [version(-60, { status: "CONFIRMED" }, 16)]);
  await send(service, "reservations", [version(-30, { status: "CONFIRMED", channel: "WEB" }, 18)]);
  await send(service, "reservations", [version(-2, { status: "CANCELLED", channel: "WEB" }, 18)]);
  // It was on its way for longer than the others.
  await send(service, "reservations", [version(-40, { status: "CONFIRMED", numberOfRooms: 2 }, 16)]);
}

async function sendLenient(
  service: TestService,
  dateOf: (day: number) => string,
  at: (day: number) => string,
): Promise<string> {
  const answer = await service.post(
    "reservations",
    [
      reservation("R-LENIENT-1", at(-1), { status: "WALK IN" }, dateOf(5), dateOf(7)),
      reservation("R-LENIENT-2", at(-1), { status: "CONFIRMED" }, dateOf(7), dateOf(5)),
    ],
    { headers: { prefer: "handling=lenient" } },
  );
  return String(answer.json()["requestId"]);
}

/** An endpoint whose receiver has been away for an hour, as if it had been there before. */
async function registerFailing(service: TestService, requestId: string): Promise<string> {
  const body = {
    url: "https://partner.invalid/bellhop",
    events: ["request.applied"],
    description: "Night audit",
  };
  const answer = await service.send("POST", "/api/public/v1/webhooks", { body });
  const endpointId = String(answer.json()["endpointId"]);
  await service.pool.query(
    `insert into bellhop.webhook_attempt (endpoint_id, message_id, event, url, attempt, attempted_at, duration_ms, status, failure, answer)
    select $1, ('01a20402-0000-7000-8000-' || lpad(tries.message::text, 12, '0'))::uuid, 'request.applied',
      'https://partner.invalid/bellhop', tries.attempt, clock_timestamp() - tries.ago, tries.took, tries.status, tries.failure, tries.answer
    from (values (1, 1, interval '2 hours', 84, 204, null, ''), (2, 1, interval '1 hour', 15000, null, 'TimedOut', ''),
      (2, 2, interval '55 minutes', 112, 503, 'NotAccepted', 'down for maintenance'))
      as tries (message, attempt, ago, took, status, failure, answer)`,
    [endpointId],
  );
  await service.pool.query(
    `insert into bellhop.webhook_message (message_id, endpoint_id, event, cause, body, attempts, dead_at, last_failure)
    values (gen_random_uuid(), $1, 'request.applied', $2, '{}', 11, clock_timestamp(), 'TimedOut')`,
    [endpointId, requestId],
  );
  await service.pool.query(
    "update bellhop.webhook_endpoint set failures = 2, failing_since = clock_timestamp() - interval '1 hour' where endpoint_id = $1",
    [endpointId],
  );
  return endpointId;
}

async function sendInBatches(
  service: TestService,
  resource: string,
  rows: readonly Row[],
  size: number,
): Promise<void> {
  for (let first = 0; first < rows.length; first += size)
    await send(service, resource, rows.slice(first, first + size));
}

async function send(service: TestService, resource: string, rows: readonly Row[]): Promise<string> {
  const answer = await service.post(resource, [...rows]);
  if (answer.status !== 202)
    throw new Error(`${resource} were not accepted: ${answer.status} ${answer.text}`);
  return String(answer.json()["requestId"]);
}

/** Batches are applied in the order of their receipt, so the last one decides. */
async function untilAllApplied(service: TestService, requestId: string): Promise<void> {
  await untilFound(async () => {
    const answer = await service.get(`/api/public/v1/requests/${requestId}`);
    return answer.json()["status"] === "applied" ? true : undefined;
  }, 60_000);
}
