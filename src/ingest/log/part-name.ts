import { hash, randomFillSync } from "node:crypto";
import { monotonicNow, SharedLock } from "../../platform/runtime/shared-memory.ts";

/** Which part of which batch: a row of the log. */
export interface PartName {
  readonly bucket: number;
  /** A UUID. */
  readonly requestId: string;
}

/** What is stored of a part's records: as `packBody` packed them, or as `encryptBody` then encrypted that. */
export interface StoredBody {
  readonly layout: Buffer;
  readonly body: Buffer;
}

/** Fixed for ever: the bucket of a property is part of every key. 64 owners are the most that can share the work. */
export const BUCKET_COUNT = 64;
export const ALL_BUCKETS: readonly number[] = Array.from({ length: BUCKET_COUNT }, (_, bucket) => bucket);

/** Answers remembered, of a few hundred bytes each: a hash takes 5 µs, and a client's properties come again and again. */
const REMEMBERED_MAX = 16_384;
const remembered = new Map<string, number>();

/**
 * The bucket a property belongs to, computed from its codes alone so that no lookup is needed to route a record.
 * The NUL between the codes cannot occur in either (the contract refuses it), so no two properties are confused.
 */
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

/** Random bytes, good until the next are drawn. They are made for some hundred draws at once: one at a time, 16 would cost 7 µs. */
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

/** The time a UUIDv7 of ours was stamped, in microseconds since 1970. */
export function microsecondsOf(requestId: string): number {
  const hex = requestId.replaceAll("-", "");
  const ms = Number.parseInt(hex.slice(0, 12), 16);
  const fraction = Number.parseInt(hex.slice(13, 16), 16);
  return ms * 1000 + Math.floor((fraction * 1000) / TICKS_PER_MS);
}

/** `2026-01-31T12:00:00.123456Z` of microseconds since 1970. */
export function isoOfMicroseconds(microseconds: number): string {
  const ms = Math.floor(microseconds / 1000);
  return `${new Date(ms).toISOString().slice(0, -1)}${String(microseconds % 1000).padStart(3, "0")}Z`;
}

/** They sort before and after every id. */
export const ID_LOWEST = "00000000-0000-0000-0000-000000000000";
export const ID_HIGHEST = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** The smallest UUIDv7 of a millisecond: bounds of log partitions and of time filters. */
export function lowestIdAt(ms: number): string {
  return encode(ms, 0, "8000000000000000");
}

const STAMP_BYTES = 32;
/** Numbers of the stamp, behind its lock. The offset is NaN until the database's clock has been read. */
const LAST_MS = 0;
const LAST_FRACTION = 1;
const OFFSET_MS = 2;

/** Where a stamp takes its local clock (monotonic, the same in all threads) and the random tail of its ids from. */
export interface StampSource {
  now(): number;
  randomBytes8(): Buffer;
}

const ofThisMachine: StampSource = { now: monotonicNow, randomBytes8: () => drawRandom(8) };

/**
 * Stamps request ids for all log writers of one process: UUIDv7 from the database's clock, strictly increasing, so that what
 * was answered before another was sent has the smaller id, whichever log writers and threads took them. The clock is the local
 * monotonic one plus an offset learnt from the database (`observe`), so a step of this machine's clock changes nothing.
 */
export class RequestIdStamp {
  readonly #lock: SharedLock;
  readonly #numbers: Float64Array;
  readonly #source: StampSource;

  /** Memory for one stamp, which all threads of a process share. */
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

  /** The local clock, in milliseconds, whose readings `observe` takes. */
  now(): number {
    return this.#source.now();
  }

  /**
   * Reports what the database's clock read at some moment between two local readings (milliseconds of `now`).
   * The offset is moved only as far as these two bounds demand: a statement that waited for long says little, and half its
   * wait taken for the way back would put the clock into the future.
   */
  observe(databaseNowMs: number, sentAt: number, receivedAt: number): void {
    const least = databaseNowMs - receivedAt;
    this.#lock.run(() => {
      const known = this.#read(OFFSET_MS);
      const offset = Math.max(Number.isNaN(known) ? least : known, least);
      this.#numbers[OFFSET_MS] = Math.min(offset, databaseNowMs - sentAt);
    });
  }

  /** Never stamps at or below `floor` (the greatest id of the log when a log writer is born) from now on. */
  raise(floor: string): void {
    const hex = floor.replaceAll("-", "");
    const ms = Number.parseInt(hex.slice(0, 12), 16);
    const fraction = Number.parseInt(hex.slice(13, 16), 16);
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
