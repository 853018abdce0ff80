import type { IncomingMessage } from "node:http";
import {
  type BrotliDecompress,
  constants,
  createBrotliDecompress,
  createGunzip,
  createZstdDecompress,
  type Gunzip,
  type ZstdDecompress,
} from "node:zlib";

/** What Content-Encoding may name besides identity (RFC 9110 section 8.4.1, RFC 7932, RFC 9659). */
export type Encoding = "gzip" | "br" | "zstd";

/** What takes the bytes of a body: those of the wire, then what they are decompressed to. Throws for too many of either. */
interface Inflated {
  countWire(bytes: number): void;
  add(chunk: Buffer): void;
}

type Decompressor = Gunzip | BrotliDecompress | ZstdDecompress;

/**
 * RFC 9659: senders of Content-Encoding zstd keep to windows of 8 MiB. zstd's own default would let a few bytes of a
 * frame header make every decompressor allocate 128 MiB.
 */
const ZSTD_WINDOW_LOG_MAX = 23;
/** The most of what it gave out that a decompressor remembers: the windows of RFC 1952, 7932 (24 bits) and 9659. */
export const WINDOW_BYTES_MAX: Readonly<Record<Encoding, number>> = {
  gzip: 32_768,
  br: 2 ** 24,
  zstd: 2 ** ZSTD_WINDOW_LOG_MAX,
};
/** A decompressor is made for each frame, so a body of nothing but tiny frames would cost far more than its size. */
const FRAMES_MAX = 1_000;
/** Each turn of a decompressor costs a job of the thread pool, about 20 µs, whatever its bytes. */
const PIECE_BYTES_MIN = 16_384;

const MAKE: Readonly<Record<Encoding, () => Decompressor>> = {
  gzip: () => createGunzip(),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX } }),
};

/**
 * Decompresses a request as it arrives. gzip allows several members and zstd several frames (RFC 1952, RFC 8878), but Node drops what
 * follows a zstd frame or a brotli stream. Throws for data that is damaged, cut short or followed by something else.
 */
export async function inflateBody(
  request: IncomingMessage,
  encoding: Encoding,
  collector: Inflated,
): Promise<void> {
  let frame = new Frame(MAKE[encoding](), collector);
  let frames = 1;
  // A few bytes can be seconds of work, which nobody waits for any more.
  const leave = () => {
    if (!request.complete) frame.abort(new Error("The client went away in the middle of its body."));
  };
  request.once("close", leave);
  try {
    for await (const piece of piecesOf(request, collector)) {
      let rest = piece;
      for (;;) {
        rest = await frame.feed(rest);
        if (rest.length === 0) break;
        if (encoding !== "zstd") throw new Error(`Bytes follow the end of the ${encoding} data.`);
        if (frames === FRAMES_MAX) throw new Error(`There are more than ${FRAMES_MAX} zstd frames.`);
        frame.close();
        frame = new Frame(MAKE.zstd(), collector);
        frames += 1;
      }
    }
    await frame.finish();
  } finally {
    request.off("close", leave);
    frame.close();
  }
}

/** The body in pieces worth a decompressor's turn: gathers small chunks, and yields the remainder at the end. */
async function* piecesOf(request: IncomingMessage, collector: Inflated): AsyncGenerator<Buffer> {
  let gathered = Buffer.allocUnsafe(PIECE_BYTES_MIN);
  let length = 0;
  // Leaving the loop must not destroy the request, or the client would see a reset instead of the answer.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    const bytes = chunk as Buffer;
    collector.countWire(bytes.length);
    if (length + bytes.length < PIECE_BYTES_MIN) {
      bytes.copy(gathered, length);
      length += bytes.length;
      continue;
    }
    // The decompressor may still read what it was given: the next small ones go into a buffer of their own.
    if (length > 0) yield gathered.subarray(0, length);
    gathered = Buffer.allocUnsafe(PIECE_BYTES_MIN);
    length = 0;
    yield bytes;
  }
  if (length > 0) yield gathered.subarray(0, length);
}

/** One decompressor, fed piece by piece. */
class Frame {
  readonly #decompressor: Decompressor;
  #failure: unknown;
  #fail: (error: unknown) => void = () => undefined;

  constructor(decompressor: Decompressor, collector: Inflated) {
    this.#decompressor = decompressor;
    decompressor.on("error", (error) => this.#stop(error));
    decompressor.on("data", (chunk: Buffer) => {
      if (this.#failure !== undefined) return;
      try {
        collector.add(chunk);
      } catch (error) {
        this.abort(error);
      }
    });
  }

  /** Ends what it is doing, which then throws `error`. */
  abort(error: unknown): void {
    this.#stop(error);
    this.#decompressor.destroy();
  }

  /** Decompresses; gives back the bytes that lie beyond the frame's end. */
  async feed(bytes: Buffer): Promise<Buffer> {
    const before = this.#decompressor.bytesWritten;
    await this.#settle((done) => this.#decompressor.write(bytes, done));
    return bytes.subarray(this.#decompressor.bytesWritten - before);
  }

  /** Says that no more comes; throws when the frame is not whole. */
  async finish(): Promise<void> {
    await this.#settle((done) => {
      this.#decompressor.once("end", done);
      this.#decompressor.end();
    });
  }

  close(): void {
    this.#decompressor.destroy();
  }

  #stop(error: unknown): void {
    this.#failure ??= error;
    this.#fail(error);
  }

  async #settle(start: (done: (error?: Error | null) => void) => void): Promise<void> {
    if (this.#failure === undefined) {
      await new Promise<void>((resolve, reject) => {
        this.#fail = reject;
        start((error) => (error instanceof Error ? reject(error) : resolve()));
      });
    }
    if (this.#failure !== undefined) throw this.#failure;
  }
}
