import type { Batch } from "./drained-applier.ts";
import { CLIENT_CODE, recordTemplates } from "./record-templates.ts";

/** One of the drains of a load: of which pair (those below 0 warm the applier up), and whether with the ledger. */
export interface Drain {
  readonly pair: number;
  readonly isOn: boolean;
}

/** What is applied in pairs of drains: the same to hotels that have the ledger and to others that have not. */
export interface Load {
  readonly name: string;
  batchesOf(drain: Drain): readonly Batch[];
}

/** Hotels of the one side are others than those of the other, by the end of their codes. */
export const sideOf = (isOn: boolean): string => (isOn ? "ON" : "OFF");

type Sent = Readonly<Record<string, unknown>>;

/** More pairs than an applier is warmed up by. */
const PAIRS_BEFORE_MAX = 10;
const RECORDS_A_BATCH = 100;
const RECORDS_A_HOTEL = 500;
const RATE_CODES = 7;
const HOUR_MS = 3_600_000;
const FIRST_MS = Date.UTC(2020, 0, 1);

interface Reservation {
  readonly status: string;
  readonly confirmationNumber: string;
  readonly roomStays: readonly [{ readonly rateCode?: string; readonly rates?: readonly object[] }];
  readonly stayRevenue?: {
    readonly daily?: readonly object[];
    readonly summary?: object;
  };
}

/** Amounts under these names are so much more: prices and the sums that are reported of them alike, or there would be warnings. */
const RAISED =
  /^(rateValue|grossRateValue|netRoomRevenue|netTicketPrice|ticketPrice|netTotalRevenue|grossTotalRevenue)$/;
const RAISED_SUMS = /^(netTotalTicketRevenue|totalTicketRevenue)$/;

function raised<Of extends object>(of: Of, names: RegExp, by: number): Of {
  const more = Object.entries(of).map(([name, value]) =>
    names.test(name) && value !== null ? [name, (Number(value) + by).toFixed(2)] : [name, value],
  );
  return Object.fromEntries(more) as Of;
}

function atOtherPrice(reservation: Reservation, by: number): Reservation {
  const [stay] = reservation.roomStays;
  const { daily = [], summary, ...rest } = reservation.stayRevenue ?? {};
  return {
    ...reservation,
    roomStays: [{ ...stay, rates: (stay.rates ?? []).map((rate) => raised(rate, RAISED, by)) }],
    stayRevenue: {
      ...rest,
      daily: daily.map((day) => raised(day, RAISED, by)),
      ...(summary === undefined ? {} : { summary: raised(summary, RAISED_SUMS, by * daily.length) }),
    },
  };
}

type Said = (of: Reservation, at: number, round: number) => Reservation;

/** What the nth reservation says in a round, by what changes from one to the next. */
const CHANGES: Readonly<Record<string, Said>> = {
  "a change of nothing of its nights": (of, at, round) => ({ ...of, confirmationNumber: `C${at}-${round}` }),
  "a change of the price": (of, _, round) => atOtherPrice(of, round),
  "a change of the rate code": (of, at, round) => ({
    ...of,
    roomStays: [{ ...of.roomStays[0], rateCode: `RATE${(at + round) % RATE_CODES}` }],
  }),
  "a change of the status": (of, _, round) => ({
    ...of,
    status: round % 2 === 0 ? "CONFIRMED" : "CHECKED_IN",
  }),
};

export function batchesOf(
  resource: Batch["resource"],
  records: readonly Sent[],
  size = RECORDS_A_BATCH,
): Batch[] {
  const batches: Batch[] = [];
  for (let at = 0; at < records.length; at += size)
    batches.push({ resource, records: records.slice(at, at + size) });
  return batches;
}

/** Reservations of a round, which are those of the round before wherever they have the same ids. */
function reservations(
  count: number,
  { pair, isOn }: Drain,
  said: Said,
  idOf: (at: number, round: number) => string,
): Batch[] {
  const templates = recordTemplates("reservations");
  const round = pair + PAIRS_BEFORE_MAX;
  const records = Array.from({ length: count }, (_, at) => ({
    ...said(JSON.parse(templates[at % templates.length] ?? "") as Reservation, at, round),
    clientCode: CLIENT_CODE,
    propertyCode: `H${Math.floor(at / RECORDS_A_HOTEL)}-${sideOf(isOn)}`,
    correlationId: `c-${round}`,
    reservationId: idOf(at, round),
    lastModifiedDateTime: new Date(FIRST_MS + round * HOUR_MS).toISOString(),
  }));
  return batchesOf("r", records);
}

/** Reservations that nobody has heard of, so many in each drain. */
export function newReservations(count: number): Load {
  const idOf = (at: number, round: number) => `R${round}-${at}`;
  return {
    name: "new reservations",
    batchesOf: (drain) => reservations(count, drain, (of) => of, idOf),
  };
}

/** So many reservations, each of which is changed in the same way in each drain. */
export function changedReservations(count: number): Load[] {
  return Object.entries(CHANGES).map(([name, change]) => ({
    name,
    batchesOf: (drain) => reservations(count, drain, change, (at) => `R${at}`),
  }));
}
