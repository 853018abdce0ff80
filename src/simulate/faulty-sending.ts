import type { FaultName } from "./faults.ts";
import type { HotelFaults } from "./hotel-faults.ts";
import type { Reservation } from "./reservation.ts";
import type { SimulatedRecord } from "./simulated-record.ts";
import { DAY_SECONDS } from "./simulated-time.ts";

/** One in so many versions of reservations. */
const ONE_IN = { duplicate: 60, "out-of-order": 60, late: 60, invalid: 120 } as const;
type SendingFault = keyof typeof ONE_IN;
const LATE_DAYS_MAX = 4;

/** Ways to make a valid reservation invalid, and what the contract says of it. */
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

interface Held {
  readonly fault: SendingFault;
  readonly record: SimulatedRecord;
  readonly reservation: Reservation;
  /** Undefined: when a newer version was sent on an earlier day. */
  readonly until: number | undefined;
}

const secondsOf = ({ day, second }: SimulatedRecord): number => day * DAY_SECONDS + second;

/** What of a hotel's day is sent when: some records are held back, sent again, or broken. */
export class FaultySending {
  readonly #faults: HotelFaults;
  #held: Held[] = [];

  constructor(faults: HotelFaults) {
    this.#faults = faults;
  }

  /** Records that were held back and come now, before the day's own. On the end everything comes. */
  release(today: number, isEnd: boolean): SimulatedRecord[] {
    const isDue = ({ until, record, reservation }: Held) =>
      isEnd || (until === undefined ? reservation.sentAt > secondsOf(record) : until <= today);
    const due = this.#held.filter(isDue);
    this.#held = this.#held.filter((held) => !isDue(held));
    for (const held of due) this.#account(held, today);
    return due.map(({ record }) => record);
  }

  /** The day's records as they are sent. */
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
    const hold = (until: number | undefined) => this.#held.push({ fault, record, reservation, until });
    if (fault === "out-of-order") hold(undefined);
    else if (fault === "late") hold(today + random.between(1, LATE_DAYS_MAX));
    else hold(today + 1);
    if (fault === "duplicate") {
      reservation.sentAt = secondsOf(record);
      return [record];
    }
    if (fault !== "invalid") return [];
    const { from, to, violation } = random.pick(INVALID);
    this.#plant("invalid", record, today, { outcome: "rejected", violation });
    return [{ ...record, json: Buffer.from(record.json.toString().replace(from, to)) }];
  }

  /** What was held has come: whether it is old by then is known only now. */
  #account({ fault, record, reservation }: Held, today: number): void {
    const isStale = reservation.sentAt > secondsOf(record);
    if (!isStale) reservation.sentAt = secondsOf(record);
    if (fault === "duplicate") this.#plant(fault, record, today, { outcome: "duplicate" });
    else if (fault !== "invalid" || isStale)
      this.#plant(fault, record, today, isStale ? { outcome: "stale" } : {});
  }

  #plant(
    fault: FaultName,
    record: SimulatedRecord,
    today: number,
    expects: { outcome?: "duplicate" | "stale" | "rejected"; violation?: { code: string; pointer: string } },
  ): void {
    const { resource, key, day, second } = record;
    this.#faults.plant(fault, { resource, key, day, second, sentDay: today }, expects);
  }
}
