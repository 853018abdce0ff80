import type { BenchCase } from "./cases.ts";
import { contentText, keyText, recordTemplates, SLOTS } from "./record-templates.ts";

/** The positions of one record's slots in its batch's body. */
interface RecordPlaces {
  readonly time: number;
  readonly correlation: number;
  readonly key: number;
  readonly content: number;
}

interface PreparedBatch {
  readonly body: Buffer;
  readonly records: readonly RecordPlaces[];
}

/** Each round is one hour later. All are in the past, because future source times are quarantined. */
const FIRST_ROUND_MS = Date.UTC(2020, 0, 1);
const HOUR_MS = 3_600_000;
/** In a nightly push, one record in this many has changed content. */
const CHANGED_ONE_IN = 10;
/** Makes marks unique among records and rounds. */
const MARKS_PER_ROUND = 1_000_003;

/** The code of the bench's nth hotel. */
export function hotelCode(number: number): string {
  return `H${String(number).padStart(SLOTS.property.length - 1, "0")}`;
}

/** The bodies of a case, created once and patched in place for each round, so that nothing is built while measuring. */
export class Batches {
  readonly #case: BenchCase;
  readonly #batches: PreparedBatch[] = [];

  constructor(benchCase: BenchCase) {
    this.#case = benchCase;
    const { resource, recordsPerBatch, recordsPerRound, hotels, firstHotel, scattered } = benchCase;
    const templates = recordTemplates(resource);
    let next = 0;
    for (let batch = 0; batch < recordsPerRound / recordsPerBatch; batch += 1) {
      const records = Array.from({ length: recordsPerBatch }, (_, at) =>
        (templates[next++ % templates.length] as string).replace(
          SLOTS.property,
          hotelCode(firstHotel + ((scattered ? at : batch) % hotels)),
        ),
      );
      this.#batches.push(this.#locate(records));
    }
  }

  /**
   * The bodies of a round. Rounds are in order from 0, which sends every key for the first time. `atMs`: its source
   * time, to the second.
   */
  bodiesOf(round: number, atMs = FIRST_ROUND_MS + round * HOUR_MS): Buffer[] {
    const { resource, variant, hotels, recordsPerBatch, scattered } = this.#case;
    const keysPerRound = Math.ceil(this.#batches.length / hotels) * recordsPerBatch;
    const time = new Date(atMs).toISOString().replace(/\.\d{3}Z$/, "Z");
    const sentAs = round.toString(16).padStart(4, "0");
    this.#batches.forEach(({ body, records }, batch) => {
      const firstOfHotel = scattered ? batch : Math.floor(batch / hotels) * recordsPerBatch;
      const firstKey = firstOfHotel + (variant === "new" ? round * keysPerRound : 0);
      records.forEach((places, at) => {
        body.write(time, places.time, "latin1");
        body.write(sentAs, places.correlation + 2, "latin1");
        if (variant === "new" || round === 0)
          body.write(keyText(resource, firstKey + (scattered ? 0 : at)), places.key, "latin1");
        const changes =
          round === 0 ||
          variant === "changed" ||
          (variant === "unchanged90" && (at + round) % CHANGED_ONE_IN === 0);
        if (changes)
          body.write(
            contentText(resource, batch * recordsPerBatch + at + round * MARKS_PER_ROUND),
            places.content,
            "latin1",
          );
      });
    });
    return this.#batches.map(({ body }) => body);
  }

  #locate(records: readonly string[]): PreparedBatch {
    const { resource } = this.#case;
    const body = Buffer.from(`[${records.join(",")}]`);
    let at = 1;
    const places = records.map((record) => {
      const start = at;
      at += Buffer.byteLength(record) + 1;
      const placeOf = (slot: string) => body.indexOf(slot, start);
      return {
        time: placeOf(SLOTS.time),
        correlation: placeOf(SLOTS.correlation),
        key: placeOf(SLOTS.key[resource]),
        content: placeOf(SLOTS.content[resource]),
      };
    });
    places.forEach(({ correlation }, record) => {
      body.write(`0000${record.toString(16).padStart(4, "0")}`, correlation + 2, "latin1");
    });
    return { body, records: places };
  }
}
