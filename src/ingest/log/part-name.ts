import { hash, randomFillSync } from "node:crypto";
import { rememberLast } from "#contract/dates.ts";
import { monotonicNow, SharedLock } from "../../platform/runtime/shared-memory.ts";

/** Identifies a row of the log: the part of a batch in one bucket. */
export interface PartName {
  readonly bucket: number;
  readonly requestId: string;
}

/** The stored records of a part: from `packBody`, then perhaps `encryptBody`. */
export interface StoredBody {
  readonly layout: Buffer;
  readonly body: Buffer;
}

/** Cannot change, because the bucket of a property is part of every key. Also the maximum number of appliers. */
export const BUCKET_COUNT = 64;
export const ALL_BUCKETS: readonly number[] = Array.from({ length: BUCKET_COUNT }, (_, bucket) => bucket);

/** Limit of the cache, whose entries take a few hundred bytes; a hash takes 5 µs. */
const REMEMBERED_MAX = 16_384;
const remembered = new Map<string, number>();

/** The bucket of a property, computed from its codes. They cannot contain the NUL that separates them. */
export function bucketOf(clientCode: string, propertyCode: string): number {
  const codes = `${clientCode}\0${propertyCode}`;
  const known = remembered.get(codes);
  if (known !== undefined) return known;
  const bucket = hash("sha256", codes, "buffer").readUInt16BE(0) % BUCKET_COUNT;
  if (remembered.size === REMEMBERED_MAX) remembered.clear();
  remembered.set(codes, bucket);
  return bucket;
}

/** A tick is 1/4096 ms: the 12 bits of `rand_a` hold the fraction of a millisecond (RFC 9562, section 6.2, method 3). */
const TICKS_PER_MS = 4096;
const RANDOM_POOL_BYTES = 8192;

const randomPool = Buffer.alloc(RANDOM_POOL_BYTES);
let randomUsed = RANDOM_POOL_BYTES;

/** Random bytes from a pool, valid until the next call. (Generating 16 bytes at a time would cost 7 µs.) */
export function drawRandom(bytes: number): Buffer {
  if (randomUsed + bytes > RANDOM_POOL_BYTES) {
    randomFillSync(randomPool);
    randomUsed = 0;
  }
  randomUsed += bytes;
  return randomPool.subarray(randomUsed - bytes, randomUsed);
}

function format(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

function encode(ms: number, fraction: number, tail: string): string {
  return format(ms.toString(16).padStart(12, "0") + (0x7000 | fraction).toString(16) + tail);
}

/** The time of a request id: milliseconds since 1970 and ticks. */
function timeOf(requestId: string): { readonly ms: number; readonly fraction: number } {
  const ms = Number.parseInt(requestId.slice(0, 8) + requestId.slice(9, 13), 16);
  return { ms, fraction: Number.parseInt(requestId.slice(15, 18), 16) };
}

/** The time of a request id in microseconds since 1970. */
export function microsecondsOf(requestId: string): number {
  const { ms, fraction } = timeOf(requestId);
  return ms * 1000 + Math.floor((fraction * 1000) / TICKS_PER_MS);
}

const isoOf = rememberLast((ms) => new Date(ms).toISOString().slice(0, -1));

/** Formats microseconds since 1970, for example `2026-01-31T12:00:00.123456Z`. */
export function isoOfMicroseconds(microseconds: number): string {
  const ms = Math.floor(microseconds / 1000);
  return `${isoOf(ms)}${String(microseconds % 1000).padStart(3, "0")}Z`;
}

/** Sort before and after every request id. */
export const ID_LOWEST = "00000000-0000-0000-0000-000000000000";
export const ID_HIGHEST = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** The lowest UUIDv7 of a millisecond, a bound of partitions and time filters. */
export function lowestIdAt(ms: number): string {
  return encode(ms, 0, "8000000000000000");
}

const STAMP_BYTES = 32;
/** Indexes of the stamp's numbers. The offset is NaN until the first `observe`. */
const LAST_MS = 0;
const LAST_FRACTION = 1;
const OFFSET_MS = 2;

/** The local clock of a stamp (monotonic, the same in all threads, ms) and its source of randomness. */
export interface StampSource {
  now(): number;
  randomBytes8(): Buffer;
}

const ofThisMachine: StampSource = { now: monotonicNow, randomBytes8: () => drawRandom(8) };

/**
 * Stamps the request ids of a process: UUIDv7, strictly increasing across threads and log writers. The time is the local monotonic
 * clock plus an offset to the database's clock (`observe`), so steps of the system clock have no effect.
 */
export class RequestIdStamp {
  readonly #lock: SharedLock;
  readonly #numbers: Float64Array;
  readonly #source: StampSource;

  /** Memory of a stamp, shared by all threads of a process. */
  static allocate(): SharedArrayBuffer {
    const memory = new SharedArrayBuffer(STAMP_BYTES);
    new Float64Array(memory, Float64Array.BYTES_PER_ELEMENT)[OFFSET_MS] = Number.NaN;
    return memory;
  }

  constructor(memory = RequestIdStamp.allocate(), source: StampSource = ofThisMachine) {
    this.#lock = new SharedLock(new Int32Array(memory, 0, 1), 0);
    this.#numbers = new Float64Array(memory, Float64Array.BYTES_PER_ELEMENT);
    this.#source = source;
  }

  now(): number {
    return this.#source.now();
  }

  /**
   * Reports the database's time (ms) at an instant between two readings of `now`. Adjusts the offset only as far as these bounds
   * require: assuming half the round trip would move the clock into the future after a statement that waited.
   */
  observe(databaseNowMs: number, sentAt: number, receivedAt: number): void {
    const least = databaseNowMs - receivedAt;
    this.#lock.run(() => {
      const known = this.#read(OFFSET_MS);
      const offset = Math.max(Number.isNaN(known) ? least : known, least);
      this.#numbers[OFFSET_MS] = Math.min(offset, databaseNowMs - sentAt);
    });
  }

  /** Stamps above `floor` from now on. */
  raise(floor: string): void {
    const { ms, fraction } = timeOf(floor);
    this.#lock.run(() => {
      const lastMs = this.#read(LAST_MS);
      if (ms > lastMs || (ms === lastMs && fraction > this.#read(LAST_FRACTION))) this.#setLast(ms, fraction);
    });
  }

  /** The next id. Throws before the first `observe`. */
  next(): string {
    const { ms, fraction } = this.#lock.run(() => this.#advance());
    const random = this.#source.randomBytes8();
    random[0] = 0x80 | ((random[0] ?? 0) & 0x3f);
    return encode(ms, fraction, random.toString("hex"));
  }

  #advance(): { ms: number; fraction: number } {
    const now = this.#source.now() + this.#read(OFFSET_MS);
    if (Number.isNaN(now)) throw new Error("The database's clock has not been read yet.");
    let ms = Math.floor(now);
    let fraction = Math.floor((now - ms) * TICKS_PER_MS);
    const lastMs = this.#read(LAST_MS);
    const lastFraction = this.#read(LAST_FRACTION);
    if (ms < lastMs || (ms === lastMs && fraction <= lastFraction)) {
      ms = lastMs;
      fraction = lastFraction + 1;
      if (fraction === TICKS_PER_MS) {
        ms += 1;
        fraction = 0;
      }
    }
    this.#setLast(ms, fraction);
    return { ms, fraction };
  }

  #read(index: number): number {
    return this.#numbers[index] as number;
  }

  #setLast(ms: number, fraction: number): void {
    this.#numbers[LAST_MS] = ms;
    this.#numbers[LAST_FRACTION] = fraction;
  }
}
