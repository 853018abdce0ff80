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
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { HttpContext } from "../../service-context.ts";
import { ServiceError } from "../errors/registry.ts";
import type { BodyBudget } from "./body-budget.ts";
import { BodyCollector, type BodyLimits, roomOfLargest } from "./body-collector.ts";
import { originOf } from "./networks.ts";

/** What Content-Encoding may name besides identity (RFC 9110 section 8.4.1, RFC 7932, RFC 9659). */
type Encoding = "gzip" | "br" | "zstd";

type Decompressor = Gunzip | BrotliDecompress | ZstdDecompress;

/**
 * RFC 9659: senders of Content-Encoding zstd keep to windows of 8 MiB. zstd's own default would let a few bytes of a
 * frame header make every decompressor allocate 128 MiB.
 */
const ZSTD_WINDOW_LOG_MAX = 23;
/** The most of what it gave out that a decompressor remembers: the windows of RFC 1952, 7932 (24 bits) and 9659. */
const WINDOW_BYTES_MAX: Readonly<Record<Encoding, number>> = {
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
 * Decompresses a request into the collector as it comes. A gzip body may have several members and a zstd body several
 * frames, as their formats say (RFC 1952 section 2.2, RFC 8878 section 3): Node reads on after a gzip member, but drops
 * whatever follows a zstd frame or a brotli stream, so that is watched for here. Throws what the collector throws, and
 * an Error for data that is damaged, cut short, or followed by something else.
 */
async function inflateBody(
  request: IncomingMessage,
  encoding: Encoding,
  collector: BodyCollector,
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

/** The body in pieces worth a decompressor's turn: small chunks are put together, what is left comes at the end. */
async function* piecesOf(request: IncomingMessage, collector: BodyCollector): AsyncGenerator<Buffer> {
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

  constructor(decompressor: Decompressor, collector: BodyCollector) {
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

/** A whole body, decompressed. Its memory goes back to the budget as BodyCollector says. */
export type ReceivedBody = Pick<BodyCollector, "keepOnly" | "release"> & { readonly bytes: Buffer };

/** The room that the largest body may take, whatever its encoding. */
export function roomOfLargestBody(limits: BodyLimits): number {
  return roomOfLargest(limits, Math.max(...Object.values(WINDOW_BYTES_MAX)));
}

/** The media type must be application/json, in UTF-8; throws ServiceError 415 otherwise. */
export function checkMediaType(contentType: string | undefined): void {
  if (contentType === "application/json") return;
  const [type = "", ...parameters] = (contentType ?? "").split(";").map((part) => part.trim().toLowerCase());
  const charset = parameters
    .find((parameter) => parameter.startsWith("charset="))
    ?.slice(8)
    .replaceAll('"', "");
  if (type !== "application/json" || (charset !== undefined && charset !== "utf-8" && charset !== "utf8")) {
    throw new ServiceError("bellhop.http.UnsupportedMediaType");
  }
}

/**
 * Receives a body, counting bytes as they come. `weigh` is told how many it has at least: first what is promised, before any of
 * it is read, so that requests beside it find it counted, then what has come. Throws ServiceError: 413 (too large, on the wire or
 * inflated), 415 (unknown encoding), 503 (no budget), 400 (the client went away, or what it sent does not decompress).
 */
export async function receiveBody(
  request: IncomingMessage,
  clientId: string,
  limits: BodyLimits,
  budget: BodyBudget,
  weigh?: (bytes: number) => void,
): Promise<ReceivedBody> {
  const encoding = encodingOf(request.headers["content-encoding"]);
  const wireBytes = Number(request.headers["content-length"] ?? 0);
  if (wireBytes > limits.bodyBytesMax) throw new ServiceError("bellhop.http.PayloadTooLarge");
  weigh?.(wireBytes);
  const promise =
    encoding === undefined
      ? { bytes: wireBytes, windowBytes: 0 }
      : { bytes: 0, windowBytes: WINDOW_BYTES_MAX[encoding] };
  const collector = new BodyCollector(clientId, limits, budget, promise, weigh);
  try {
    if (encoding === undefined) await collect(request, collector);
    else await inflateBody(request, encoding, collector);
    return {
      bytes: collector.whole(),
      keepOnly: (bytes) => collector.keepOnly(bytes),
      release: () => collector.release(),
    };
  } catch (error) {
    collector.release();
    if (error instanceof ServiceError) throw error;
    const message =
      encoding === undefined ? "The body ended early." : `The body is not valid ${encoding} data.`;
    throw new ServiceError("bellhop.http.BadRequest", { message, cause: error });
  }
}

/** Leaves the bodies of these routes to their handlers: no parser of the framework reads what nobody counts. */
export function leaveBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
}

/**
 * Receives the whole of a small body, which is empty where none came. Without a client it counts as its address's, of IPv6 as
 * its /64's. Throws ServiceError as `receiveBody` does.
 */
export async function receiveSmallBody(
  { budget, clientAddress }: Pick<HttpContext, "budget" | "clientAddress">,
  { raw, principal }: FastifyRequest,
  bytesMax: number,
): Promise<Buffer> {
  const owner = principal?.clientId ?? originOf(clientAddress(raw)).subnet;
  const limits = { bodyBytesMax: bytesMax, inflatedBytesMax: bytesMax };
  const received = await receiveBody(raw, owner, limits, budget);
  try {
    return Buffer.from(received.bytes);
  } finally {
    received.release();
  }
}

/** Undefined for identity; throws ServiceError 415 for what is unknown, several encodings among it. */
function encodingOf(header: string | undefined): Encoding | undefined {
  switch (header?.trim().toLowerCase() ?? "identity") {
    case "":
    case "identity":
      return undefined;
    case "gzip":
    case "x-gzip":
      return "gzip";
    case "br":
      return "br";
    case "zstd":
      return "zstd";
    default:
      throw new ServiceError("bellhop.http.UnsupportedEncoding");
  }
}

/** By events: a promise a chunk would cost twice as much, and a hostile client decides how many chunks there are. */
function collect(request: IncomingMessage, collector: BodyCollector): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: unknown) => {
      request.off("data", take).off("end", settle).off("error", settle).off("close", goneAway);
      if (error === undefined) resolve();
      else reject(error);
    };
    const goneAway = () => settle(new Error("The client went away in the middle of its body."));
    const take = (chunk: Buffer) => {
      try {
        collector.countWire(chunk.length);
        collector.add(chunk);
      } catch (error) {
        settle(error);
      }
    };
    request.on("end", settle).on("error", settle).on("close", goneAway).on("data", take);
    // It may have gone before this was called.
    if (request.destroyed) goneAway();
  });
}
