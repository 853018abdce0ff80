import type pg from "pg";
import { type Money, textOfMoney } from "#contract/money.ts";
import { spansOfFacts } from "#contract/parsed-spans.ts";
import { decodeCompact, RUN_NUMBERS } from "../apply/ledger/content-nights.ts";
import { type DimensionCodes, type NightRun, reservationNights } from "../apply/ledger/reservation-nights.ts";
import { namedStatement } from "../platform/db/statement.ts";
import type { PropertyCodes } from "../query/property.ts";
import { type Batch, charactersOf, type Value } from "./columns.ts";

const readProperties = namedStatement(
  "read-exported-properties",
  `select property_id as "propertyId", client_code as "clientCode", property_code as "propertyCode"
  from bellhop.property where bucket = $1`,
);
/** Dimension ids as text, because a bigint does not fit a double. */
const readDimensions = namedStatement(
  "read-exported-dimensions",
  `select property_id as "propertyId", dimension::text as dimension, status, room_type_code as "roomTypeCode",
    booked_room_type_code as "bookedRoomTypeCode", market_segment_code as "marketSegmentCode",
    group_block_code as "groupBlockCode", rate_code as "rateCode", channel, currency_code as "currencyCode", cause
  from bellhop_state.night_dimension where bucket = $1`,
);

/** Codes that nights of one bucket refer to. */
export interface NightSource {
  readonly properties: ReadonlyMap<number, PropertyCodes>;
  /** By property and dimension id. */
  readonly dimensions: ReadonlyMap<string, DimensionCodes>;
}

const TWO_TO_32 = 4_294_967_296n;
const dimensionKey = (propertyId: number, high: number, low: number) => `${propertyId}/${high}/${low}`;

/** The codes of a bucket's properties, by their number. */
export async function readPropertyCodes(
  client: pg.ClientBase,
  bucket: number,
): Promise<ReadonlyMap<number, PropertyCodes>> {
  const { rows } = await client.query<PropertyCodes & { propertyId: number }>({
    ...readProperties,
    values: [bucket],
  });
  return new Map(rows.map((row) => [row.propertyId, row]));
}

export async function readNightSource(client: pg.ClientBase, bucket: number): Promise<NightSource> {
  const properties = await readPropertyCodes(client, bucket);
  const dimensions = await client.query<DimensionCodes & { propertyId: number; dimension: string }>({
    ...readDimensions,
    values: [bucket],
  });
  return {
    properties,
    dimensions: new Map(
      dimensions.rows.map((row) => {
        const number = BigInt.asUintN(64, BigInt(row.dimension));
        const [high, low] = [Number(number / TWO_TO_32) | 0, Number(number % TWO_TO_32) | 0];
        return [dimensionKey(row.propertyId, high, low), row];
      }),
    ),
  };
}

/** A reservation with `compact` or `facts`, whichever is stored. */
type ReservationRow = readonly [
  propertyId: number,
  key: string,
  status: string | null,
  compact: string | null,
  facts: string | null,
];

function runsOf(source: NightSource, [propertyId, key, status, compact, facts]: ReservationRow) {
  if (compact === null) {
    if (facts === null)
      throw new Error(`The facts of the reservation ${key} are not where its version says.`);
    return reservationNights(spansOfFacts("reservations", facts), status);
  }
  const nights = decodeCompact(compact);
  if (nights === null) throw new Error(`The nights of the reservation ${key} cannot be read.`);
  const { dimension, rooms, adults, children, runs: numbers } = nights;
  const runs: NightRun[] = [];
  if (numbers.length === 0) return { shareId: null, runs };
  const codes = source.dimensions.get(dimensionKey(propertyId, dimension.high, dimension.low));
  if (codes === undefined) throw new Error(`The nights of the reservation ${key} name an unknown dimension.`);
  let { firstNight } = nights;
  for (let at = 0; at < numbers.length; at += RUN_NUMBERS) {
    const [nightCount = 0, revenue = Number.NaN, gross = Number.NaN] = [
      numbers[at],
      numbers[at + 1],
      numbers[at + 2],
    ];
    const roomRevenue = Number.isNaN(revenue) ? null : revenue;
    const grossRoomRevenue = Number.isNaN(gross) ? null : gross;
    runs.push({
      firstNight,
      nights: nightCount,
      rooms,
      adults,
      children,
      roomRevenue,
      grossRoomRevenue,
      codes,
    });
    firstNight += nightCount;
  }
  return { shareId: null, runs };
}

/** An amount with more than four decimals or beyond the safe integers goes into a separate text column. */
const short = (money: Money | null): Value => (typeof money === "number" ? money : null);
const long = (money: Money | null): Value => (typeof money === "string" ? textOfMoney(money) : null);

const DATE_COLUMN = 3;

/** Adds a row for each night, and each date with other revenue, of a reservation's current version, as counted by the ledger. */
export function addNights(source: NightSource, row: ReservationRow, batch: Batch): void {
  const [propertyId, key] = row;
  const { clientCode, propertyCode } = source.properties.get(propertyId) as PropertyCodes;
  const { shareId, runs } = runsOf(source, row);
  for (const run of runs) {
    const { codes, rooms, adults, children } = run;
    // Nothing times a rate is no revenue, as in answers.
    const [roomRevenue, grossRoomRevenue] = [run.roomRevenue, run.grossRoomRevenue].map((money) =>
      rooms === 0 && money === 0 ? null : money,
    ) as [Money | null, Money | null];
    const values: readonly Value[] = [
      clientCode,
      propertyCode,
      key,
      run.firstNight,
      codes.status,
      codes.roomTypeCode,
      codes.bookedRoomTypeCode,
      codes.marketSegmentCode,
      codes.groupBlockCode,
      codes.rateCode,
      codes.channel,
      codes.currencyCode,
      codes.cause,
      shareId,
      rooms,
      adults,
      children,
      short(roomRevenue),
      short(grossRoomRevenue),
      long(roomRevenue),
      long(grossRoomRevenue),
    ];
    for (let at = 0; at < values.length; at += 1) {
      const column = batch.values[at] as Value[];
      const value = values[at] as Value;
      // The nights of a run differ only in their date.
      for (let night = 0; night < run.nights; night += 1)
        column.push(at === DATE_COLUMN ? run.firstNight + night : value);
    }
    batch.endRows(charactersOf(values) * run.nights);
  }
}
