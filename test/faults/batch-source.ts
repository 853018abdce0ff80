import { RESOURCES, type Resource } from "#contract/resource.ts";
import { SeededRandom } from "../workload/seeded-random.ts";

/** A batch as a sender has it in hand. `number` stands in every record's correlation id, so the log can be traced back. */
export interface Batch {
  readonly number: number;
  readonly resource: Resource;
  /** Each record as its JSON text. */
  readonly records: readonly string[];
  readonly idempotencyKey: string | undefined;
}

/** All that the load pushes is of this client code, so that one grant is enough. */
export const CLIENT_CODE = "FAULTS";
const PROPERTIES = 14;
/** So many batches name a property that nobody has named before, to have its registration interrupted too. */
const NEW_PROPERTY = 0.08;
/** Below what a client may bring in a day. */
const NEW_PROPERTIES_MAX = 900;
const KEYS_A_PROPERTY = 30;
const LARGE_BYTES = 4_000_000;
const LARGE_RECORDS_MAX = 60;
const SHORT_RECORDS_MAX = 12;
/** So many batches are applied in pieces. */
const IN_PIECES = 0.02;
const IN_PIECES_RECORDS = 2_000;
/** Long past, so that no source time is ever ahead of its receipt. */
const EPOCH_MS = Date.UTC(2024, 0, 1);
const DAY_MS = 86_400_000;

interface Thing {
  readonly resource: Resource;
  readonly propertyCode: string;
  readonly number: number;
  /** Seconds after EPOCH_MS of the newest version, and what its content hangs on. */
  seconds: number;
  content: number;
}

/** The number of the batch that a record came in. */
export function batchNumberOf(recordJson: string): number {
  return Number(/"correlationId":"batch-(\d+)"/.exec(recordJson)?.[1] ?? Number.NaN);
}

function dayAfter(days: number): string {
  return new Date(EPOCH_MS + days * DAY_MS).toISOString().slice(0, 10);
}

function fieldsOf(thing: Thing): Record<string, unknown> {
  const { resource, number, content } = thing;
  if (resource === "inventories") {
    return {
      occupancyDate: dayAfter(number),
      roomTypeInventories: ["DLX", "STD", "SUI"].map((roomTypeCode, at) => ({
        roomTypeCode,
        roomTypeCapacity: 40,
        roomsSold: (content + at * 7) % 40,
      })),
    };
  }
  if (resource === "reservations") {
    return {
      reservationId: `R-${number}`,
      status: content % 5 === 0 ? "CANCELLED" : "RESERVED",
      roomStays: [
        {
          arrivalDate: dayAfter(number),
          departureDate: dayAfter(number + 1 + (content % 4)),
          roomTypeCode: content % 2 === 0 ? "DLX" : "STD",
          numberOfAdults: String(1 + (content % 3)),
        },
      ],
    };
  }
  return {
    groupCode: `G-${number}`,
    groupStatusCode: "DEFINITE",
    startDate: dayAfter(number),
    endDate: dayAfter(number + 2),
    groupBlocks: [{ occupancyDate: dayAfter(number), roomTypeCode: "DLX", blocks: content % 60 }],
  };
}

/**
 * Batches of 1 to 200 records, and some of 2,000, about a fixed set of things, so that the same ones are written again and again: newer,
 * late, repeated, unchanged, and of one source time with two contents. Small batches are the most frequent.
 */
export class BatchSource {
  readonly #random: SeededRandom;
  readonly #things = new Map<Resource, Thing[]>();
  #made = 0;
  #newProperties = 0;

  constructor(seed: number) {
    this.#random = SeededRandom.stream(seed, 1);
    for (const resource of RESOURCES) this.#things.set(resource, thingsOf(resource));
  }

  next(): Batch {
    const random = this.#random;
    this.#made += 1;
    const number = this.#made;
    const resource = random.pick(RESOURCES);
    const size = random.chance(IN_PIECES)
      ? IN_PIECES_RECORDS
      : random.pick([random.between(1, 4), random.between(1, 40), random.between(1, 200)]);
    const things = this.#things.get(resource) ?? [];
    const oneProperty = random.chance(0.7) ? random.pick(things).propertyCode : undefined;
    const pool =
      oneProperty === undefined ? things : things.filter(({ propertyCode }) => propertyCode === oneProperty);
    const records = Array.from({ length: size }, () => this.#record(random.pick(pool), number));
    if (random.chance(NEW_PROPERTY) && this.#newProperties < NEW_PROPERTIES_MAX) {
      this.#newProperties += 1;
      const propertyCode = `N${this.#newProperties}`;
      records[0] = this.#record({ resource, propertyCode, number: 0, seconds: 1, content: 1 }, number);
    }
    const idempotencyKey = random.chance(0.5) ? `key-${number}` : undefined;
    return { number, resource, records, idempotencyKey };
  }

  /** A batch for a receiver that is notified of each record: with all of theirs one that is killed all the time would fall behind for ever. */
  nextShort(): Batch {
    const batch = this.next();
    return { ...batch, records: batch.records.slice(0, SHORT_RECORDS_MAX) };
  }

  /** A batch whose records carry some MB that nobody reads, and that are stored as sent all the same. */
  nextLarge(): Batch {
    const batch = this.next();
    const padded = batch.records.slice(0, LARGE_RECORDS_MAX);
    const text = "hotel ".repeat(LARGE_BYTES / 6 / padded.length);
    return { ...batch, records: padded.map((json) => json.replace(/\}$/, `,"remark":"${text}"}`)) };
  }

  #record(thing: Thing, batch: number): string {
    const random = this.#random;
    const sent = { ...thing };
    const kind = random.between(1, 100);
    if (kind <= 60) {
      // Newer, with new content.
      thing.seconds += random.between(1, 50);
      thing.content += random.between(1, 9);
      Object.assign(sent, thing);
    } else if (kind <= 70) {
      // Newer, unchanged.
      thing.seconds += random.between(1, 50);
      sent.seconds = thing.seconds;
    } else if (kind <= 82) {
      // Late, and sometimes the same late one again.
      sent.seconds = Math.max(1, thing.seconds - random.between(1, 40));
      sent.content = sent.seconds;
    } else if (kind <= 90) {
      // One source time, another content.
      sent.content += 1000;
    }
    const time = new Date(EPOCH_MS + sent.seconds * 1000).toISOString().replace(".000Z", "Z");
    return JSON.stringify({
      clientCode: CLIENT_CODE,
      propertyCode: sent.propertyCode,
      correlationId: `batch-${batch}`,
      [sent.resource === "inventories" ? "createDateTime" : "lastModifiedDateTime"]: time,
      ...fieldsOf(sent),
    });
  }
}

/** Every property and resource has the same number of things. */
function propertyCodes(): string[] {
  return Array.from({ length: PROPERTIES }, (_, at) => `P${String(at + 1).padStart(2, "0")}`);
}

function thingsOf(resource: Resource): Thing[] {
  return propertyCodes().flatMap((propertyCode) =>
    Array.from({ length: KEYS_A_PROPERTY }, (_, number) => ({
      resource,
      propertyCode,
      number,
      seconds: 100,
      content: number,
    })),
  );
}
