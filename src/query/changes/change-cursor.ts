import { ALL_BUCKETS, BUCKET_COUNT } from "../../ingest/log/bucket.ts";
import { SealedCursors } from "../sealed-cursor.ts";
import type { Positions } from "./positions.ts";

const EPOCH_BYTES = 4;
/** What Node writes as one number. Always all of it: a width that grew with the counters would tell of them. */
const POSITION_BYTES = 6;
const BUCKET_AND_POSITION_BYTES = 1 + POSITION_BYTES;
const ALL_BUCKETS_BYTES = BUCKET_COUNT * POSITION_BYTES;
const CURSOR_CHARACTERS_MAX = 1_024;

/** Whose cursor, and of which question: with another one it would pass by what this one had left out. */
interface CursorOwner {
  readonly clientId: string;
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
 * The cursors of one question of the change feed. One of all buckets holds their positions one after another; one of some, each
 * with its bucket before it. Its length depends on how many buckets it is of, and on nothing else.
 */
export class ChangeCursors {
  readonly #sealed: SealedCursors;
  readonly #epoch: number;

  constructor({ key, epoch }: CursorSeal, { clientId, filters }: CursorOwner) {
    this.#sealed = new SealedCursors(key, { clientId, path: "changes", filters });
    this.#epoch = epoch;
  }

  write(positions: Positions): string {
    const isOfAll = positions.size === BUCKET_COUNT;
    const bytes = Buffer.alloc(
      EPOCH_BYTES + (isOfAll ? ALL_BUCKETS_BYTES : positions.size * BUCKET_AND_POSITION_BYTES),
    );
    let at = bytes.writeUInt32BE(this.#epoch);
    if (isOfAll)
      for (const bucket of ALL_BUCKETS)
        at = bytes.writeUIntBE(positions.get(bucket) ?? 0, at, POSITION_BYTES);
    else
      for (const [bucket, position] of positions)
        at = bytes.writeUIntBE(position, bytes.writeUInt8(bucket, at), POSITION_BYTES);
    return this.#sealed.seal(bytes);
  }

  /** Undefined for what this installation has not written for this question, and "former" for what it has written before it was restored. */
  read(cursor: string): Positions | "former" | undefined {
    const bytes = cursor.length > CURSOR_CHARACTERS_MAX ? undefined : this.#sealed.open(cursor);
    if (bytes === undefined) return undefined;
    if (bytes.readUInt32BE() !== this.#epoch) return "former";
    const body = bytes.subarray(EPOCH_BYTES);
    if (body.length === ALL_BUCKETS_BYTES)
      return new Map(
        ALL_BUCKETS.map((bucket) => [bucket, body.readUIntBE(bucket * POSITION_BYTES, POSITION_BYTES)]),
      );
    const positions = new Map<number, number>();
    for (let at = 0; at < body.length; at += BUCKET_AND_POSITION_BYTES)
      positions.set(body.readUInt8(at), body.readUIntBE(at + 1, POSITION_BYTES));
    return positions;
  }
}
