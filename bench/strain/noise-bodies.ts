import { contentText, keyText, recordTemplates, SLOTS } from "../record-templates.ts";

/** The noisy partner has its own hotels, so that keys cause no waits. */
const FIRST_HOTEL = 710_000;
const HOTELS = 12;
const BODY_BYTES_MAX = 16_777_216;
const RECORDS_MAX = 10_000;
const TIME = "2020-06-01T00:00:00Z";

interface BodyShape {
  readonly records: number;
  readonly time?: string;
  /** The number of valid records at the start. */
  readonly valid?: number;
}

/** Reservations of one hotel; invalid ones lack their id and have an invalid date. */
function bodyOf(hotel: number, { records, time = TIME, valid = records }: BodyShape): Buffer {
  const templates = recordTemplates("reservations");
  const texts: string[] = [];
  let bytes = 2;
  for (let number = 0; number < records; number += 1) {
    let text = (templates[number % templates.length] as string)
      .replace(SLOTS.property, `H${FIRST_HOTEL + hotel}`)
      .replace(SLOTS.time, time)
      .replace(SLOTS.key.reservations, keyText("reservations", number))
      .replace(SLOTS.content.reservations, contentText("reservations", number));
    if (number >= valid)
      text = text
        .replace('"reservationId"', '"reservationNo"')
        .replace(/"arrivalDate":"\d/, '"arrivalDate":"x');
    bytes += Buffer.byteLength(text) + 1;
    if (bytes > BODY_BYTES_MAX) break;
    texts.push(text);
  }
  return Buffer.from(`[${texts.join(",")}]`);
}

/** Bodies of several hotels, sent in turn. Repeated ones are duplicates except for `fresh`, which writes new keys. */
export function bodiesOf(shape: BodyShape, hotels = HOTELS): Buffer[] {
  return Array.from({ length: hotels }, (_, hotel) => bodyOf(hotel, shape));
}

/** The hotel of the backfill. */
export const BACKFILLED_HOTEL = `H${FIRST_HOTEL}`;

export const SHAPES = {
  "ten-times": { records: 20 },
  busy: { records: 100 },
  huge: { records: RECORDS_MAX },
  backfill: { records: 500 },
  "as-live": { records: 500 },
  invalid: { records: 1_000, valid: 0 },
  rejected: { records: 1_000, valid: 1 },
  quarantined: { records: 1_000, time: `${new Date().getUTCFullYear() + 1}-06-01T00:00:00Z` },
} as const satisfies Readonly<Record<string, BodyShape>>;

/** Writes new ids into the first records of a body, so that they are applied and not duplicates. */
export class FreshKeys {
  readonly #places = new Map<Buffer, readonly number[]>();
  #next = 0;

  write(body: Buffer): void {
    let places = this.#places.get(body);
    if (places === undefined) {
      places = placesOf(body);
      this.#places.set(body, places);
    }
    for (const place of places) {
      this.#next += 1;
      body.write(`R9${String(this.#next).padStart(8, "0")}`, place, "latin1");
    }
  }
}

function placesOf(body: Buffer): number[] {
  const name = '"reservationId":"';
  const places: number[] = [];
  for (let at = body.indexOf(name); at >= 0; at = body.indexOf(name, at)) {
    at += name.length;
    places.push(at);
  }
  return places;
}
