import type { FaultName, PlantedFault } from "./faults.ts";
import { FaultySending } from "./faulty-sending.ts";
import { Hotel } from "./hotel.ts";
import { HotelFaults } from "./hotel-faults.ts";
import type { SimulatedRecord } from "./simulated-record.ts";
import { dateText, dayOfDate } from "./simulated-time.ts";

export interface SimulationOptions {
  readonly seed: number;
  readonly properties: number;
  readonly days: number;
  /** The first day, `YYYY-MM-DD`. */
  readonly start: string;
  readonly clientCode: string;
  /** Nights of each nightly push of inventory; 0 pushes none. */
  readonly horizonDays: number;
  readonly faults: ReadonlySet<FaultName>;
}

/** What the hotels send on one day. */
export interface SimulatedDay {
  /** `YYYY-MM-DD`; of the cold start the day before the first. */
  readonly date: string;
  /** Each wave is to be received whole before the next one begins; within one any order will do. */
  readonly waves: readonly (readonly SimulatedRecord[])[];
  /** What of it is wrong on purpose. */
  readonly planted: readonly PlantedFault[];
}

interface SimulatedHotel {
  readonly hotel: Hotel;
  readonly faults: HotelFaults | undefined;
  readonly sending: FaultySending | undefined;
}

function openHotel(number: number, options: SimulationOptions): SimulatedHotel {
  const { seed, clientCode, start, days, horizonDays } = options;
  let faults: HotelFaults | undefined;
  const faultsOf: ConstructorParameters<typeof Hotel>[1]["faultsOf"] =
    options.faults.size === 0
      ? undefined
      : (profile, books) => {
          faults = new HotelFaults(seed, options.faults, profile, books, horizonDays);
          return faults;
        };
  const hotel = new Hotel(number, {
    seed,
    clientCode,
    startDay: dayOfDate(start),
    days,
    horizonDays,
    faultsOf,
  });
  return { hotel, faults, sending: faults === undefined ? undefined : new FaultySending(faults) };
}

/**
 * Lives through the days of a hotel group: first what is on the books when it begins (a cold start), then each day what its
 * hotels send. The same options give the same records, byte for byte, on every machine. What a hotel does depends on the seed and
 * its own number, neither on how many hotels or days there are nor on the faults.
 */
export function* simulate(options: SimulationOptions): Generator<SimulatedDay, void> {
  const hotels = Array.from({ length: options.properties }, (_, number) => openHotel(number, options));
  const startDay = dayOfDate(options.start);
  const planted = (): PlantedFault[] => hotels.flatMap(({ faults }) => faults?.planted.splice(0) ?? []);
  const told = hotels.map(({ hotel }) => hotel.coldStart());
  const ofResource = (resource: SimulatedRecord["resource"]) =>
    told.flatMap((records) => records.filter((record) => record.resource === resource));
  yield {
    date: dateText(startDay - 1),
    // Room types are known by inventory, and groups before those who pick them up.
    waves: withoutEmpty([ofResource("inventories"), ofResource("groups"), ofResource("reservations")]),
    planted: planted(),
  };
  told.length = 0;
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
