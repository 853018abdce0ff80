import { hash, timingSafeEqual } from "node:crypto";
import { BUCKET_COUNT } from "../accept/bucket.ts";
import { FIRST_EPOCH } from "./cursor-epoch.ts";
import type { Positions } from "./positions.ts";

/** The first byte: the positions of all buckets, or some with their bucket before each. Another form is another number. */
const ALL_BUCKETS = 1;
const SOME_BUCKETS = 2;
/** Added to it where the head goes on with an epoch (4 bytes): in every epoch but the first. */
const WITH_EPOCH = 2;
/** The second byte is how many bytes a position takes: as many as the greatest needs. What Node writes as one number. */
const HEAD_BYTES = 2;
const EPOCH_BYTES = 4;
const WIDTH_MAX = 6;
/** Enough that nobody makes one up; a cursor opens nothing that its client may not read anyway. */
const SEAL_BYTES = 9;
const CURSOR_CHARACTERS_MAX = Math.ceil(
  ((HEAD_BYTES + EPOCH_BYTES + BUCKET_COUNT * (1 + WIDTH_MAX) + SEAL_BYTES) * 4) / 3,
);
const CURSOR = /^[A-Za-z0-9_-]+$/;

/** Whose cursor, and of which question: with another one it would pass by what this one had left out. */
export interface CursorOwner {
  readonly clientId: string;
  /** The filters, as one text that is the same for the same filters. */
  readonly filters: string;
}

/** What cursors are written and read by. */
export interface CursorSeal {
  /** 32 bytes that only this installation has. */
  readonly key: Buffer;
  /** Which life of the database they are of (cursor-epoch.ts). */
  readonly epoch: number;
}

/**
 * A keyed hash of the bytes, as HMAC nests it: with a key that is the owner's. Each line of the feed has a cursor, and an Hmac
 * object of Node's costs more than all the rest of it.
 */
function sealOf(key: Buffer, { clientId, filters }: CursorOwner, bytes: Buffer): Buffer {
  const own = hash(
    "sha256",
    Buffer.concat([key, Buffer.from(JSON.stringify([clientId, filters]))]),
    "buffer",
  );
  const inner = hash("sha256", Buffer.concat([own, bytes]), "buffer");
  return hash("sha256", Buffer.concat([own, inner]), "buffer").subarray(0, SEAL_BYTES);
}

function widthOf(positions: Positions): number {
  let greatest = 0;
  for (const position of positions.values()) greatest = Math.max(greatest, position);
  let width = 1;
  while (greatest >= 256 ** width) width += 1;
  return width;
}

/**
 * Writes positions as an opaque text: those of all buckets one after another, or of some with their bucket's number before
 * each, sealed with a key that only this installation has.
 */
export function writeChangeCursor(seal: CursorSeal, owner: CursorOwner, positions: Positions): string {
  const isOfAll = positions.size === BUCKET_COUNT;
  const width = widthOf(positions);
  const headBytes = HEAD_BYTES + (seal.epoch === FIRST_EPOCH ? 0 : EPOCH_BYTES);
  const bytes = Buffer.alloc(headBytes + positions.size * (isOfAll ? width : 1 + width) + SEAL_BYTES);
  bytes[0] = (isOfAll ? ALL_BUCKETS : SOME_BUCKETS) + (seal.epoch === FIRST_EPOCH ? 0 : WITH_EPOCH);
  bytes[1] = width;
  if (seal.epoch !== FIRST_EPOCH) bytes.writeUInt32BE(seal.epoch, HEAD_BYTES);
  let at = headBytes;
  if (isOfAll)
    for (let bucket = 0; bucket < BUCKET_COUNT; bucket += 1)
      at = bytes.writeUIntBE(positions.get(bucket) ?? 0, at, width);
  else
    for (const [bucket, position] of positions)
      at = bytes.writeUIntBE(position, bytes.writeUInt8(bucket, at), width);
  sealOf(seal.key, owner, bytes.subarray(0, at)).copy(bytes, at);
  return bytes.toString("base64url");
}

/** The positions of sealed bytes; undefined for a form that is not known. */
function positionsOf(form: number, width: number, body: Buffer): Positions | undefined {
  if (width < 1 || width > WIDTH_MAX) return undefined;
  const positions = new Map<number, number>();
  if (form === ALL_BUCKETS)
    for (let bucket = 0; bucket < BUCKET_COUNT; bucket += 1)
      positions.set(bucket, body.readUIntBE(bucket * width, width));
  else if (form === SOME_BUCKETS)
    for (let at = 0; at < body.length; at += 1 + width)
      positions.set(body.readUInt8(at), body.readUIntBE(at + 1, width));
  else return undefined;
  return positions;
}

/**
 * Reads a cursor back; undefined for what this installation has not written for this client and these filters, and "former" for what it
 * has written before it was restored.
 */
export function readChangeCursor(
  seal: CursorSeal,
  owner: CursorOwner,
  cursor: string,
): Positions | "former" | undefined {
  if (cursor.length > CURSOR_CHARACTERS_MAX || !CURSOR.test(cursor)) return undefined;
  const bytes = Buffer.from(cursor, "base64url");
  // Bits that no byte needs are dropped in decoding: two texts for one cursor would not be opaque.
  if (bytes.length < HEAD_BYTES + SEAL_BYTES || bytes.toString("base64url") !== cursor) return undefined;
  const body = bytes.subarray(0, -SEAL_BYTES);
  if (!timingSafeEqual(sealOf(seal.key, owner, body), bytes.subarray(-SEAL_BYTES))) return undefined;
  const [form = 0, width = 0] = body;
  if (form <= WITH_EPOCH)
    return seal.epoch === FIRST_EPOCH ? positionsOf(form, width, body.subarray(HEAD_BYTES)) : "former";
  if (body.readUInt32BE(HEAD_BYTES) !== seal.epoch) return "former";
  return positionsOf(form - WITH_EPOCH, width, body.subarray(HEAD_BYTES + EPOCH_BYTES));
}
