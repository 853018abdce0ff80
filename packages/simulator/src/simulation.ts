import type { FaultExpectation, HotelFaults, PlantedFault } from "./faults.ts";
import { Hotel, type HotelOptions } from "./hotel.ts";
import type { SimulatedRecord } from "./records.ts";
import type { Reservation } from "./reservation.ts";
import { DAY_SECONDS, dateText, dayOfDate } from "./simulated-record.ts";

/** One in this many versions of reservations. */
const ONE_IN = { duplicate: 60, "out-of-order": 60, late: 60, invalid: 120 } as const;
type SendingFault = keyof typeof ONE_IN;
const LATE_DAYS_MAX = 4;

/** The invalid values of reservations, and the violations that they cause. */
const INVALID = [
  {
    from: /"departureDate":"[^"]*"/,
    to: '"departureDate":"2025-02-30"',
    violation: { code: "format.date", pointer: "/roomStays/0/departureDate" },
  },
  {
    from: /"numberOfRooms":\d+/,
    to: '"numberOfRooms":1.5',
    violation: { code: "number.integer", pointer: "/numberOfRooms" },
  },
  { from: /"status":"[^"]*"/, to: '"status":null', violation: { code: "null", pointer: "/status" } },
  {
    from: /("bookingDateTime":"[^"]*)Z"/,
    to: '$1+01:00"',
    violation: { code: "format.timestamp", pointer: "/bookingDateTime" },
  },
] as const;

interface Delayed {
  readonly fault: SendingFault;
  readonly record: SimulatedRecord;
  readonly reservation: Reservation;
  /** Undefined: until a newer version was sent on an earlier day. */
  readonly until: number | undefined;
}

const secondsOf = ({ day, second }: SimulatedRecord): number => day * DAY_SECONDS + second;

/** Delays, repeats or corrupts records. */
class FaultySending {
  readonly #faults: HotelFaults;
  #delayed: Delayed[] = [];

  constructor(faults: HotelFaults) {
    this.#faults = faults;
  }

  /** Returns due delayed records, sent before the day's own; at the end, all. */
  release(today: number, isEnd: boolean): SimulatedRecord[] {
    const isDue = ({ until, record, reservation }: Delayed) =>
      isEnd || (until === undefined ? reservation.sentAt > secondsOf(record) : until <= today);
    const due = this.#delayed.filter(isDue);
    this.#delayed = this.#delayed.filter((delayed) => !isDue(delayed));
    for (const delayed of due) this.#account(delayed, today);
    return due.map(({ record }) => record);
  }

  send(records: readonly SimulatedRecord[], today: number): SimulatedRecord[] {
    const sent: SimulatedRecord[] = [];
    for (const record of records) {
      const { reservation } = record;
      if (reservation === undefined) sent.push(record);
      else if (reservation.planted === "missing") continue;
      else {
        const fault = reservation.planted === undefined ? this.#draw() : undefined;
        if (fault === undefined) {
          sent.push(record);
          if (reservation.planted !== "skew") reservation.sentAt = secondsOf(record);
        } else {
          reservation.planted = fault;
          for (const one of this.#spoil(fault, record, reservation, today)) sent.push(one);
        }
      }
    }
    return sent;
  }

  #draw(): SendingFault | undefined {
    for (const fault of Object.keys(ONE_IN) as SendingFault[])
      if (this.#faults.has(fault) && this.#faults.random.between(1, ONE_IN[fault]) === 1) return fault;
    return undefined;
  }

  #spoil(
    fault: SendingFault,
    record: SimulatedRecord,
    reservation: Reservation,
    today: number,
  ): readonly SimulatedRecord[] {
    const { random } = this.#faults;
    const delay = (until: number | undefined) => this.#delayed.push({ fault, record, reservation, until });
    if (fault === "out-of-order") delay(undefined);
    else if (fault === "late") delay(today + random.between(1, LATE_DAYS_MAX));
    else delay(today + 1);
    if (fault === "duplicate") {
      reservation.sentAt = secondsOf(record);
      return [record];
    }
    if (fault !== "invalid") return [];
    const { from, to, violation } = random.pick(INVALID);
    this.#faults.plant("invalid", record, { outcome: "rejected", violation }, today);
    return [{ ...record, json: Buffer.from(record.json.toString().replace(from, to)) }];
  }

  /** Whether the delayed record is stale is known only now. */
  #account({ fault, record, reservation }: Delayed, today: number): void {
    const isStale = reservation.sentAt > secondsOf(record);
    if (!isStale) reservation.sentAt = secondsOf(record);
    const stale: FaultExpectation = isStale ? { outcome: "stale" } : {};
    if (fault === "duplicate") this.#faults.plant(fault, record, { outcome: "duplicate" }, today);
    else if (fault !== "invalid" || isStale) this.#faults.plant(fault, record, stale, today);
  }
}

export interface SimulationOptions extends HotelOptions {
  readonly properties: number;
}

/** The records that the hotels send on one day. */
export interface SimulatedDay {
  /** `YYYY-MM-DD`; for the cold start, the day before the first. */
  readonly date: string;
  /** Each wave must be received before the next; order within one does not matter. */
  readonly waves: readonly (readonly SimulatedRecord[])[];
  /** The deliberate faults. */
  readonly planted: readonly PlantedFault[];
}

/** Simulates a hotel group: a cold start, then day by day. Deterministic: each hotel depends only on the seed and its number. */
export function* simulate(options: SimulationOptions): Generator<SimulatedDay, void> {
  const hotels = Array.from({ length: options.properties }, (_, number) => {
    const hotel = new Hotel(number, options);
    return { hotel, sending: hotel.faults === undefined ? undefined : new FaultySending(hotel.faults) };
  });
  const startDay = dayOfDate(options.start);
  const planted = (): PlantedFault[] => hotels.flatMap(({ hotel }) => hotel.faults?.planted.splice(0) ?? []);
  const starts = hotels.map(({ hotel }) => hotel.coldStart());
  const ofResource = (resource: SimulatedRecord["resource"]) =>
    starts.flatMap((records) => records.filter((record) => record.resource === resource));
  yield {
    date: dateText(startDay - 1),
    // Inventory introduces room types; groups precede their members.
    waves: withoutEmpty([ofResource("inventories"), ofResource("groups"), ofResource("reservations")]),
    planted: planted(),
  };
  starts.length = 0;
  for (let day = startDay; day < startDay + options.days; day += 1) {
    const isLast = day === startDay + options.days - 1;
    const [before, during, after]: [SimulatedRecord[], SimulatedRecord[], SimulatedRecord[]] = [[], [], []];
    for (const { hotel, sending } of hotels) {
      for (const record of sending?.release(day, false) ?? []) before.push(record);
      const records = hotel.day(day);
      for (const record of sending?.send(records, day) ?? records) during.push(record);
      for (const record of isLast ? (sending?.release(day, true) ?? []) : []) after.push(record);
    }
    yield { date: dateText(day), waves: withoutEmpty([before, during, after]), planted: planted() };
  }
}

function withoutEmpty(waves: readonly (readonly SimulatedRecord[])[]): (readonly SimulatedRecord[])[] {
  return waves.filter((wave) => wave.length > 0);
}
