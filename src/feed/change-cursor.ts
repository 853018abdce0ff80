import { createHmac, timingSafeEqual } from "node:crypto";
import { BUCKET_COUNT } from "../accept/bucket.ts";
import type { Positions } from "./positions.ts";

/** The first byte: the positions of all buckets, or some with their bucket before each. Another form is another number. */
const ALL_BUCKETS = 1;
const SOME_BUCKETS = 2;
/** Enough that nobody makes one up; a cursor opens nothing that its client may not read anyway. */
const SEAL_BYTES = 9;
/** A number of 53 bits, seven a byte. */
const NUMBER_BYTES_MAX = 8;
const CURSOR_CHARACTERS_MAX = Math.ceil(((1 + BUCKET_COUNT * (1 + NUMBER_BYTES_MAX) + SEAL_BYTES) * 4) / 3);
const CURSOR = /^[A-Za-z0-9_-]+$/;

/** Whose cursor, and of which question: with another one it would pass by what this one had left out. */
export interface CursorOwner {
  readonly clientId: string;
  /** The filters, as one text that is the same for the same filters. */
  readonly filters: string;
}

/** What cursors are sealed with: of the installation's pepper, so the same on all its nodes and on no other's. */
export function changeCursorKey(pepper: Buffer): Buffer {
  return createHmac("sha256", pepper).update("cursors of the change feed").digest();
}

function sealOf(key: Buffer, { clientId, filters }: CursorOwner, bytes: Buffer): Buffer {
  const sealed = createHmac("sha256", key)
    .update(JSON.stringify([clientId, filters]))
    .update(bytes);
  return sealed.digest().subarray(0, SEAL_BYTES);
}

function writeNumber(bytes: number[], number: number): void {
  let left = number;
  while (left >= 128) {
    bytes.push((left % 128) + 128);
    left = Math.floor(left / 128);
  }
  bytes.push(left);
}

/** Reads numbers from the second byte on; undefined where they do not end with the bytes. */
function readNumbers(bytes: Buffer): number[] | undefined {
  const numbers: number[] = [];
  let [number, factor] = [0, 1];
  for (const byte of bytes.subarray(1)) {
    number += (byte % 128) * factor;
    factor *= 128;
    if (number > Number.MAX_SAFE_INTEGER) return undefined;
    if (byte >= 128) continue;
    numbers.push(number);
    [number, factor] = [0, 1];
  }
  return factor === 1 ? numbers : undefined;
}

/**
 * Writes positions as an opaque text: those of all buckets one after another, or of some with their bucket's number before
 * each, sealed with a key that only this installation has. `key` is 32 bytes.
 */
export function writeChangeCursor(key: Buffer, owner: CursorOwner, positions: Positions): string {
  const isOfAll = positions.size === BUCKET_COUNT;
  const bytes = [isOfAll ? ALL_BUCKETS : SOME_BUCKETS];
  if (isOfAll)
    for (let bucket = 0; bucket < BUCKET_COUNT; bucket += 1) writeNumber(bytes, positions.get(bucket) ?? 0);
  else
    for (const [bucket, position] of positions) {
      writeNumber(bytes, bucket);
      writeNumber(bytes, position);
    }
  const body = Buffer.from(bytes);
  return Buffer.concat([body, sealOf(key, owner, body)]).toString("base64url");
}

/** Reads a cursor back; undefined for what this installation has not written for this client and these filters. */
export function readChangeCursor(key: Buffer, owner: CursorOwner, cursor: string): Positions | undefined {
  if (cursor.length > CURSOR_CHARACTERS_MAX || !CURSOR.test(cursor)) return undefined;
  const bytes = Buffer.from(cursor, "base64url");
  // Bits that no byte needs are dropped in decoding: two texts for one cursor would not be opaque.
  if (bytes.length <= SEAL_BYTES || bytes.toString("base64url") !== cursor) return undefined;
  const body = bytes.subarray(0, -SEAL_BYTES);
  if (!timingSafeEqual(sealOf(key, owner, body), bytes.subarray(-SEAL_BYTES))) return undefined;
  const numbers = readNumbers(body);
  if (numbers === undefined) return undefined;
  if (body[0] === ALL_BUCKETS) return new Map(numbers.map((position, bucket) => [bucket, position]));
  if (body[0] !== SOME_BUCKETS) return undefined;
  const positions = new Map<number, number>();
  for (let at = 0; at + 1 < numbers.length; at += 2) positions.set(numbers[at] ?? 0, numbers[at + 1] ?? 0);
  return positions;
}
