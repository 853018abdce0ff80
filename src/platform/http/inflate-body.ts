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

/** Supported Content-Encodings besides identity (RFC 9110, section 8.4.1; RFC 7932; RFC 9659). */
export type Encoding = "gzip" | "br" | "zstd";

/** Receives the bytes of a body as sent and as decompressed. Throws if there are too many of either. */
interface Inflated {
  countWire(bytes: number): void;
  countDecompressor(): void;
  add(chunk: Buffer): void;
}

type Decompressor = Gunzip | BrotliDecompress | ZstdDecompress;

/** RFC 9659 limits windows to 8 MiB; with zstd's default a frame header could make a decompressor allocate 128 MiB. */
const ZSTD_WINDOW_LOG_MAX = 23;
/** Maximum window of a decompressor (RFC 1952, RFC 7932 with 24 bits, RFC 9659). */
export const WINDOW_BYTES_MAX: Readonly<Record<Encoding, number>> = {
  gzip: 32_768,
  br: 2 ** 24,
  zstd: 2 ** ZSTD_WINDOW_LOG_MAX,
};
/** Each frame needs a new decompressor, so tiny frames cost far more than their size. */
const FRAMES_MAX = 1_000;
/** Each call of a decompressor is a job of the thread pool, about 20 µs. */
export const PIECE_BYTES_MIN = 16_384;
const NOTHING = Buffer.alloc(0);

const MAKE: Readonly<Record<Encoding, () => Decompressor>> = {
  gzip: () => createGunzip(),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX } }),
};

/**
 * Decompresses a request as it arrives, including several gzip members or zstd frames (RFC 1952, RFC 8878), which Node alone would drop.
 * Throws for data that is corrupt, truncated or followed by other data.
 */
export async function inflateBody(
  request: IncomingMessage,
  encoding: Encoding,
  collector: Inflated,
): Promise<void> {
  // Created with the first piece: a body that is only announced takes no memory.
  let frame: Frame | undefined;
  let frames = 1;
  // A few bytes can be seconds of work; stop if the client has left.
  const leave = () => {
    if (!request.complete) frame?.abort(new Error("The client disconnected while sending the body."));
  };
  request.once("close", leave);
  try {
    for await (const piece of piecesOf(request, collector)) {
      let rest = piece;
      for (;;) {
        frame ??= newFrame(encoding, collector);
        rest = await frame.feed(rest);
        if (rest.length === 0) break;
        if (encoding !== "zstd") throw new Error(`Bytes follow the end of the ${encoding} data.`);
        if (frames === FRAMES_MAX) throw new Error(`There are more than ${FRAMES_MAX} zstd frames.`);
        frame.close();
        frame = undefined;
        frames += 1;
      }
    }
    frame ??= newFrame(encoding, collector);
    await frame.finish();
  } finally {
    request.off("close", leave);
    frame?.close();
  }
}

/** The body in pieces of at least PIECE_BYTES_MIN, except the last. */
async function* piecesOf(request: IncomingMessage, collector: Inflated): AsyncGenerator<Buffer> {
  let gathered = NOTHING;
  let length = 0;
  // Destroying the request on leaving the loop would reset the connection before the response.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    const bytes = chunk as Buffer;
    collector.countWire(bytes.length);
    if (length + bytes.length < PIECE_BYTES_MIN) {
      if (gathered.length === 0) gathered = Buffer.allocUnsafe(PIECE_BYTES_MIN);
      bytes.copy(gathered, length);
      length += bytes.length;
      continue;
    }
    // The decompressor may still read the last buffer.
    if (length > 0) yield gathered.subarray(0, length);
    gathered = NOTHING;
    length = 0;
    yield bytes;
  }
  if (length > 0) yield gathered.subarray(0, length);
}

function newFrame(encoding: Encoding, collector: Inflated): Frame {
  collector.countDecompressor();
  return new Frame(MAKE[encoding](), collector);
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

  /** Makes the current operation throw `error`. */
  abort(error: unknown): void {
    this.#stop(error);
    this.#decompressor.destroy();
  }

  /** Decompresses bytes and returns those after the end of the frame. */
  async feed(bytes: Buffer): Promise<Buffer> {
    const before = this.#decompressor.bytesWritten;
    await this.#settle((done) => this.#decompressor.write(bytes, done));
    return bytes.subarray(this.#decompressor.bytesWritten - before);
  }

  /** Ends the input. Throws if the frame is incomplete. */
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
