import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ServiceError } from "../errors/registry.ts";
import { freeMemory } from "../runtime/free-memory.ts";
import { monotonicNow, SharedLock, SharedTable } from "../runtime/shared-memory.ts";
import { ArrivingBodies } from "./arriving-bodies.ts";
import { type Encoding, inflateBody, PIECE_BYTES_MIN, WINDOW_BYTES_MAX } from "./inflate-body.ts";
import { originOf } from "./networks.ts";

/** Larger buffers are not pooled. */
const POOLED_BYTES_EACH_MAX = 4 * 1_048_576;
/** Limit of the pool of each thread. */
const POOLED_BYTES_MAX = 8 * 1_048_576;
/** Smaller buffers are not pooled. */
const SMALLEST_BYTES = 131_072;
/** A body is small while it holds at most this: forms, single records. */
const SMALL_BODY_BYTES = 131_072;
/** The share of the budget that large bodies leave to small ones. */
const SMALL_BODIES_SHARE = 1 / 8;
/** The share that small bodies may take, so that any number of stalled ones leaves the rest to large ones. */
const SMALL_BODIES_SHARE_MAX = 1 / 2;

/**
 * A pool of buffers in power-of-two sizes. Allocating external memory makes V8 collect the whole heap: without the pool a third of the CPU
 * time at 100 records of 2 kB per body.
 */
export class BodyBuffers {
  readonly #pooled = new Map<number, Buffer[]>();
  #pooledBytes = 0;

  /** A pooled buffer of exactly this size. It contains data of another body. */
  take(size: number): Buffer | undefined {
    const pooled = this.#pooled.get(size)?.pop();
    if (pooled !== undefined) this.#pooledBytes -= size;
    return pooled;
  }

  /** Returns an unreferenced buffer to the pool. `false`: it was freed instead. */
  put(buffer: Buffer): boolean {
    const size = buffer.length;
    if (size > POOLED_BYTES_EACH_MAX || this.#pooledBytes + size > POOLED_BYTES_MAX) {
      freeMemory(buffer);
      return false;
    }
    const same = this.#pooled.get(size);
    if (same === undefined) this.#pooled.set(size, [buffer]);
    else same.push(buffer);
    this.#pooledBytes += size;
    return true;
  }

  /** Frees the pool and returns the number of bytes. */
  clear(): number {
    const bytes = this.#pooledBytes;
    for (const buffers of this.#pooled.values()) for (const buffer of buffers) freeMemory(buffer);
    this.#pooled.clear();
    this.#pooledBytes = 0;
    return bytes;
  }
}

export function sizeFor(bytes: number): number {
  if (bytes > POOLED_BYTES_EACH_MAX) return bytes;
  return Math.max(SMALLEST_BYTES, 2 ** Math.ceil(Math.log2(bytes)));
}

/** Clients with bodies in flight: one row each, with the bytes of small and of large bodies. */
const SHAPE = { rows: 16_384, numbers: 2 } as const;
const SMALL = 0;
const LARGE = 1;

type SizeClass = typeof SMALL | typeof LARGE;

/** A lock, the total, and the parts of it that are pooled and of small bodies. */
const SUMS_BYTES = 32;
const ALL = 0;
const POOLED = 1;
const OF_SMALL = 2;

/** Shared memory of a process's budget. */
export interface BudgetMemory {
  readonly sums: SharedArrayBuffer;
  readonly clients: SharedArrayBuffer;
}

export function allocateBudget(): BudgetMemory {
  return { sums: new SharedArrayBuffer(SUMS_BYTES), clients: SharedTable.allocate(SHAPE) };
}

/** A reservation of a client: by how much it changes the total, and the part of it that is pooled. */
interface Taking {
  readonly bytes: number;
  readonly sizeClass: SizeClass;
  readonly all: number;
  readonly pooled: number;
}

/**
 * Limits the memory of all bodies of the process, including allocated but unfilled room and pooled buffers. A client may hold as much as
 * it leaves free to others, so that any number of clients leaves some. Large and small bodies leave a part to each other.
 */
export class BodyBudget {
  /** The bodies of this thread that have not arrived completely. */
  readonly arriving: ArrivingBodies;
  readonly #bytesMax: number;
  readonly #bodyBytesMax: number;
  readonly #keptForSmall: number;
  readonly #lock: SharedLock;
  readonly #sums: Float64Array;
  readonly #clients: SharedTable;
  readonly #buffers = new BodyBuffers();

  /** `bodyBytesMax`: room of the largest body, which a client gets if others hold little. */
  constructor(
    bytesMax: number,
    bodyBytesMax: number,
    memory = allocateBudget(),
    arriving = new ArrivingBodies(5_000, (request) => request.destroy()),
  ) {
    this.arriving = arriving;
    this.#bytesMax = bytesMax;
    this.#bodyBytesMax = bodyBytesMax;
    this.#keptForSmall = Math.max(0, Math.min(bytesMax * SMALL_BODIES_SHARE, bytesMax - bodyBytesMax));
    this.#lock = new SharedLock(new Int32Array(memory.sums, 0, 1), 0);
    this.#sums = new Float64Array(memory.sums, Float64Array.BYTES_PER_ELEMENT, 3);
    this.#clients = new SharedTable(memory.clients, SHAPE);
  }

  /** Bytes of bodies in flight, without the pool. */
  get bytesInUse(): number {
    return this.#lock.run(() => (this.#sums[ALL] as number) - (this.#sums[POOLED] as number));
  }

  /** Reserves bytes for a client; `false` if there is no room. */
  take(clientId: string, bytes: number, sizeClass: SizeClass = LARGE): boolean {
    const taking = { bytes, sizeClass, all: bytes, pooled: 0 };
    if (this.#takeFor(clientId, taking)) return true;
    const pooled = this.#buffers.clear();
    if (pooled === 0) return false;
    this.#add(-pooled, -pooled);
    return this.#takeFor(clientId, taking);
  }

  /** Releases reserved bytes. */
  release(clientId: string, bytes: number, sizeClass: SizeClass = LARGE): void {
    if (bytes !== 0) this.#releaseFor(clientId, { bytes, sizeClass, all: -bytes, pooled: 0 });
  }

  /** A pooled or new buffer of exactly this size, reserved for a client's large body. Undefined if there is no room. */
  takeBuffer(clientId: string, size: number): Buffer | undefined {
    const pooled = this.#buffers.take(size);
    if (pooled === undefined) return this.take(clientId, size) ? Buffer.allocUnsafeSlow(size) : undefined;
    if (this.#takeFor(clientId, { bytes: size, sizeClass: LARGE, all: 0, pooled: -size })) return pooled;
    if (!this.#buffers.put(pooled)) this.#add(-size, -size);
    return undefined;
  }

  /** Releases an unreferenced buffer to the pool, or frees it. */
  releaseBuffer(clientId: string, buffer: Buffer): void {
    const bytes = buffer.length;
    const stays = this.#buffers.put(buffer);
    const change = stays ? { all: 0, pooled: bytes } : { all: -bytes, pooled: 0 };
    this.#releaseFor(clientId, { bytes, sizeClass: LARGE, ...change });
  }

  #takeFor(clientId: string, taking: Taking): boolean {
    const taken = this.#clients.use(
      clientId,
      monotonicNow(),
      (client) => {
        const ofClient = client.get(taking.sizeClass) + taking.bytes;
        if (!this.#grant(taking, ofClient)) return false;
        client.set(taking.sizeClass, ofClient);
        return true;
      },
      (other) => other.get(SMALL) === 0 && other.get(LARGE) === 0,
    );
    // Every row of the set is in use: only the sum limits this client.
    return taken ?? this.#grant(taking, taking.bytes);
  }

  /** `ofClient`: what the client would hold of this size class. */
  #grant({ bytes, sizeClass, all, pooled }: Taking, ofClient: number): boolean {
    const isSmall = sizeClass === SMALL;
    const room = isSmall ? this.#bytesMax : this.#bytesMax - this.#keptForSmall;
    return this.#lock.run(() => {
      const small = (this.#sums[OF_SMALL] as number) + (isSmall ? bytes : 0);
      if (isSmall && ofClient > this.#bytesMax * SMALL_BODIES_SHARE_MAX - small) return false;
      const sum = (this.#sums[ALL] as number) + all;
      const pool = (this.#sums[POOLED] as number) + pooled;
      if (all > 0 && sum > room) return false;
      const inUse = sum - pool;
      const others = inUse - ofClient;
      const isNearlyAlone = others <= this.#keptForSmall && ofClient <= this.#bodyBytesMax;
      if (ofClient > room - inUse && (isSmall || !isNearlyAlone)) return false;
      this.#sums[OF_SMALL] = small;
      this.#sums[ALL] = sum;
      this.#sums[POOLED] = pool;
      return true;
    });
  }

  #releaseFor(clientId: string, { bytes, sizeClass, all, pooled }: Taking): void {
    // A client without a row took its bytes while all rows of its set were in use.
    this.#clients.useKnown(clientId, (client) => {
      client.set(sizeClass, Math.max(0, client.get(sizeClass) - bytes));
    });
    this.#add(all, pooled, sizeClass === SMALL ? -bytes : 0);
  }

  #add(all: number, pooled: number, small = 0): void {
    this.#lock.run(() => {
      this.#sums[OF_SMALL] = (this.#sums[OF_SMALL] as number) + small;
      this.#sums[ALL] = (this.#sums[ALL] as number) + all;
      this.#sums[POOLED] = (this.#sums[POOLED] as number) + pooled;
    });
  }
}

export interface BodyLimits {
  readonly bodyBytesMax: number;
  readonly inflatedBytesMax: number;
}

/** What the headers announce about a body. */
interface AnnouncedBody {
  /** Content-Length; 0 if unknown or compressed. */
  readonly bytes: number;
  /** Window of the decompressor; 0 if not compressed. */
  readonly windowBytes: number;
}

/** A buffer may be this many times as large as what has arrived of a body of known length. */
const GROWTH = 8;
/** The least first buffer of a body whose first chunk is smaller. */
const FIRST_BYTES = 16_384;
/** Smaller buffers are allocated for one body. */
const OWN_BYTES_MAX = 32_768;
/** The memory of any decompressor without its window, and a first piece of its output. */
const DECOMPRESSOR_BYTES = 65_536;
const FIRST_OUTPUT_BYTES = 16_384;

const EMPTY = Buffer.alloc(0);
const UNKNOWN: AnnouncedBody = { bytes: 0, windowBytes: 0 };

/** Smaller chunks matter little; large ones slow the garbage collector down if it has to free them. */
const FREED_BYTES_MIN = 16_384;

/** Reserves room in steps, so that the budget is not locked for each chunk. */
const STEP_BYTES = 1_048_576;

/** The maximum room of one body in any encoding, including the buffer that it is copied from. */
export function roomOfLargestBody({ inflatedBytesMax }: BodyLimits): number {
  const windowMax = Math.min(inflatedBytesMax, Math.max(...Object.values(WINDOW_BYTES_MAX)));
  const window = Math.max(DECOMPRESSOR_BYTES, windowMax);
  if (inflatedBytesMax <= POOLED_BYTES_EACH_MAX) return window + sizeFor(inflatedBytesMax) * 1.5;
  return window + inflatedBytesMax + POOLED_BYTES_EACH_MAX + STEP_BYTES;
}

/**
 * Collects a body into one buffer within the limits and the budget. Chunks are copied, because one-byte chunks would cost a hundred times
 * their size in Buffer objects.
 */
export class BodyCollector {
  readonly #clientId: string;
  readonly #limits: BodyLimits;
  readonly #budget: BodyBudget;
  readonly #announced: AnnouncedBody;
  readonly #onBytes: ((bytes: number) => void) | undefined;
  #bytes: Buffer = EMPTY;
  /** `chunk`: the only chunk; `pooled`: a buffer of the budget; `own`: allocated for this body, counted as it is filled. */
  #kind: "chunk" | "pooled" | "own" = "chunk";
  #length = 0;
  /** Bytes reserved besides a buffer of the budget, and in which size class. */
  #reserved = 0;
  #sizeClass: SizeClass = SMALL;
  /** Memory of the decompressor without its window. */
  #decompressorBytes = 0;
  #wireBytes = 0;

  /**
   * Returns copied chunks at once if the body's length is known, as only then nothing else uses them. Calls `onBytes`
   * after each chunk with the decompressed size so far.
   */
  constructor(
    clientId: string,
    limits: BodyLimits,
    budget: BodyBudget,
    announced: AnnouncedBody = UNKNOWN,
    onBytes?: (bytes: number) => void,
  ) {
    this.#announced = announced;
    this.#onBytes = onBytes;
    this.#clientId = clientId;
    this.#limits = limits;
    this.#budget = budget;
  }

  /** Counts a chunk's bytes on the wire. Throws ServiceError: PayloadTooLarge, or Unavailable when the budget is used up. */
  countWire(bytes: number): void {
    // The buffer that a compressed body is gathered in.
    if (this.#wireBytes === 0 && this.#announced.windowBytes > 0) this.#needBeside(PIECE_BYTES_MIN);
    this.#wireBytes += bytes;
    if (this.#wireBytes > this.#limits.bodyBytesMax) throw tooLarge(this.#limits.bodyBytesMax);
  }

  /** Reserves a decompressor, which is made once enough of the body has arrived. Throws Unavailable if there is no room. */
  countDecompressor(): void {
    this.#decompressorBytes = DECOMPRESSOR_BYTES;
    this.#needBeside(this.#inflatingOf(this.#length) + FIRST_OUTPUT_BYTES);
  }

  /** Bytes received and decompressed so far. */
  get progress(): number {
    return this.#wireBytes + this.#length;
  }

  /** Bytes that the body holds of the budget. */
  get held(): number {
    return this.#reserved + (this.#kind === "pooled" ? this.#bytes.length : 0);
  }

  /** Adds decompressed bytes. Throws ServiceError: PayloadTooLarge, or Unavailable when the budget is used up. */
  add(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    const { inflatedBytesMax } = this.#limits;
    if (length > inflatedBytesMax) throw tooLarge(inflatedBytesMax, " when decompressed");
    if (this.#length === 0 && chunk.length >= this.#announced.bytes) {
      // Most bodies are one chunk, which is used without copying.
      this.#needBeside(chunk.length + this.#inflatingOf(length));
      this.#bytes = chunk;
    } else {
      if (length > this.#bytes.length) this.#grow(length);
      else if (this.#reserved > 0) this.#needBeside(this.#roomBeside(length));
      chunk.copy(this.#bytes, this.#length);
      this.#discard(chunk);
    }
    this.#length = length;
    this.#onBytes?.(length);
  }

  /** The collected bytes, valid until released. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Releases the body, once unreferenced, except for this many bytes derived from it. Throws Unavailable if there is no room for them. */
  keepOnly(bytes: number): void {
    if (this.#kind !== "chunk") this.#leave(bytes);
  }

  /** Releases all memory once `bytes` is unreferenced. Idempotent. */
  release(): void {
    this.#leave(0);
  }

  #leave(bytesLeft: number): void {
    if (this.#kind === "pooled") this.#budget.releaseBuffer(this.#clientId, this.#bytes);
    else if (this.#kind === "own") freeMemory(this.#bytes);
    this.#kind = "chunk";
    this.#bytes = EMPTY;
    this.#length = 0;
    if (bytesLeft > this.#reserved) this.#needBeside(bytesLeft);
    else this.#leaveBeside(bytesLeft);
  }

  /** Frees a copied chunk, unless a decompressor may still use it. */
  #discard(chunk: Buffer): void {
    if (this.#announced.bytes > 0 && chunk.length >= FREED_BYTES_MIN) freeMemory(chunk);
  }

  /**
   * Moves to a larger buffer, sized by what has arrived: an announced length reserves nothing. Beyond the pooled sizes it is one for the
   * largest body, counted as it is filled.
   */
  #grow(length: number): void {
    const [before, kindBefore] = [this.#bytes, this.#kind];
    const { inflatedBytesMax } = this.#limits;
    const isAnnounced = this.#announced.bytes > 0;
    const grown = Math.max(FIRST_BYTES, isAnnounced ? GROWTH * length : 2 * before.length, length);
    const wanted = Math.min(grown, isAnnounced ? this.#announced.bytes : inflatedBytesMax, inflatedBytesMax);
    if (wanted > OWN_BYTES_MAX && wanted <= POOLED_BYTES_EACH_MAX && inflatedBytesMax >= SMALLEST_BYTES) {
      this.#becomeLarge(this.#reserved);
      const buffer = this.#budget.takeBuffer(this.#clientId, sizeFor(wanted));
      if (buffer === undefined) throw noRoom();
      this.#kind = "pooled";
      this.#bytes = buffer;
    } else {
      const largest = isAnnounced ? this.#announced.bytes : inflatedBytesMax;
      const size = wanted > POOLED_BYTES_EACH_MAX ? largest : wanted;
      // The former buffer exists until it is copied.
      const former = kindBefore === "pooled" ? 0 : before.length;
      this.#needBeside(this.#countedOf(size, length) + this.#inflatingOf(length) + former);
      this.#bytes = Buffer.allocUnsafeSlow(size);
      this.#kind = "own";
    }
    before.copy(this.#bytes, 0, 0, this.#length);
    if (kindBefore === "pooled") this.#budget.releaseBuffer(this.#clientId, before);
    else if (kindBefore === "own") freeMemory(before);
    else this.#discard(before);
    this.#leaveBeside(this.#roomBeside(length));
  }

  /** Bytes to count of an own buffer: all of a small one, of a large one what is filled, as the rest takes no memory. */
  #countedOf(size: number, length: number): number {
    return size > POOLED_BYTES_EACH_MAX ? length : size;
  }

  /** Bytes to reserve for a body of this length, besides a buffer of the budget. */
  #roomBeside(length: number): number {
    const counted = this.#kind === "own" ? this.#countedOf(this.#bytes.length, length) : 0;
    return counted + this.#inflatingOf(length);
  }

  #inflatingOf(length: number): number {
    return Math.max(this.#decompressorBytes, Math.min(length, this.#announced.windowBytes));
  }

  #needBeside(bytes: number): void {
    if (bytes <= this.#reserved) return;
    if (this.#sizeClass === SMALL && bytes > SMALL_BODY_BYTES) {
      this.#becomeLarge(bytes);
      return;
    }
    const step = this.#sizeClass === SMALL ? 0 : Math.min(this.#reserved, STEP_BYTES);
    const more = Math.max(bytes - this.#reserved, step);
    if (!this.#budget.take(this.#clientId, more, this.#sizeClass)) throw noRoom();
    this.#reserved += more;
  }

  /** Reserves these bytes in the class of large bodies instead of what was reserved as a small one. */
  #becomeLarge(bytes: number): void {
    if (this.#sizeClass === LARGE) return;
    if (bytes > 0 && !this.#budget.take(this.#clientId, bytes, LARGE)) throw noRoom();
    this.#budget.release(this.#clientId, this.#reserved, SMALL);
    this.#reserved = bytes;
    this.#sizeClass = LARGE;
  }

  #leaveBeside(bytes: number): void {
    if (bytes >= this.#reserved) return;
    this.#budget.release(this.#clientId, this.#reserved - bytes, this.#sizeClass);
    this.#reserved = bytes;
  }
}

function tooLarge(bytesMax: number, when = ""): ServiceError {
  return new ServiceError("bellhop.http.PayloadTooLarge", {
    message: `The body has more than ${bytesMax.toLocaleString("en-US")} bytes${when}.`,
  });
}

function noRoom(): ServiceError {
  return new ServiceError("bellhop.accept.Unavailable", {
    message: "Too many bodies are being received at once; nothing was accepted. Send it again later.",
    retryAfterSeconds: 1,
  });
}

export type ReceivedBody = Pick<BodyCollector, "bytes" | "keepOnly" | "release">;

/** Characters of a header that a message quotes. */
const QUOTED_MAX = 60;

/** Throws ServiceError 415 unless the media type is application/json in UTF-8. */
export function checkMediaType(contentType: string | undefined): void {
  if (contentType === "application/json") return;
  const [type = "", ...parameters] = (contentType ?? "").split(";").map((part) => part.trim().toLowerCase());
  const charset = parameters
    .find((parameter) => parameter.startsWith("charset="))
    ?.slice(8)
    .replaceAll('"', "");
  if (type !== "application/json" || (charset !== undefined && charset !== "utf-8" && charset !== "utf8")) {
    const got = contentType === undefined ? "none" : JSON.stringify(contentType.slice(0, QUOTED_MAX));
    throw new ServiceError("bellhop.http.UnsupportedMediaType", {
      message: `Send the body as application/json in UTF-8, with the header Content-Type: application/json (got ${got}).`,
    });
  }
}

/**
 * Receives a body, counting bytes as they arrive. `onBytes` gets the announced number before any byte is read, then the number received. Throws
 * ServiceError: 413 too large, 415 unknown encoding, 503 no budget, 400 the client left or the data does not decompress. A slow body is
 * answered 408 here, and its connection ends.
 */
export async function receiveBody(
  request: IncomingMessage,
  clientId: string,
  limits: BodyLimits,
  budget: BodyBudget,
  onBytes?: (bytes: number) => void,
): Promise<ReceivedBody> {
  const encoding = encodingOf(request.headers["content-encoding"]);
  const wireBytes = Number(request.headers["content-length"] ?? 0);
  if (wireBytes > limits.bodyBytesMax) throw tooLarge(limits.bodyBytesMax);
  onBytes?.(wireBytes);
  const announced =
    encoding === undefined
      ? { bytes: wireBytes, windowBytes: 0 }
      : { bytes: 0, windowBytes: WINDOW_BYTES_MAX[encoding] };
  const collector = new BodyCollector(clientId, limits, budget, announced, onBytes);
  const watch = () => budget.arriving.watch(request, collector);
  try {
    if (encoding === undefined) await collect(request, collector, wireBytes, watch);
    else {
      watch();
      await inflateBody(request, encoding, collector);
    }
    return collector;
  } catch (error) {
    collector.release();
    if (error instanceof ServiceError) throw error;
    const message =
      encoding === undefined ? "The body ended early." : `The body is not valid ${encoding} data.`;
    throw new ServiceError("bellhop.http.BadRequest", { message, cause: error });
  } finally {
    budget.arriving.forget(request);
  }
}

/** Removes Fastify's body parsers from routes that receive bodies within the budget. */
export function leaveBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
}

/** What small bodies are received with. */
export interface SmallBodyContext {
  readonly budget: BodyBudget;
  /** The client's address: of the connection, or as forwarded by trusted proxies. */
  clientAddress(raw: IncomingMessage): string;
}

/** Receives a small body, perhaps empty, counted for the site (/48) of the client's address. Throws ServiceError as `receiveBody`. */
export async function receiveSmallBody(
  { budget, clientAddress }: SmallBodyContext,
  { raw, principal }: FastifyRequest,
  bytesMax: number,
): Promise<Buffer> {
  const owner = principal?.clientId ?? originOf(clientAddress(raw)).site;
  const limits = { bodyBytesMax: bytesMax, inflatedBytesMax: bytesMax };
  const received = await receiveBody(raw, owner, limits, budget);
  try {
    return Buffer.from(received.bytes);
  } finally {
    received.release();
  }
}

/** Undefined for identity. */
const ENCODINGS = new Map<string, Encoding | undefined>([
  ["", undefined],
  ["identity", undefined],
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["br", "br"],
  ["zstd", "zstd"],
]);

/** Throws ServiceError 415 for unknown or several encodings. */
function encodingOf(header = "identity"): Encoding | undefined {
  const name = header.trim().toLowerCase();
  if (!ENCODINGS.has(name)) throw new ServiceError("bellhop.http.UnsupportedEncoding");
  return ENCODINGS.get(name);
}

/**
 * Uses events, because promises would double the cost per chunk, whose number a hostile client decides. Calls `watch` for a body that is
 * more than one chunk.
 */
function collect(
  request: IncomingMessage,
  collector: BodyCollector,
  wireBytes: number,
  watch: () => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: unknown) => {
      request.off("data", take).off("end", settle).off("error", settle).off("close", goneAway);
      if (error === undefined) resolve();
      else reject(error);
    };
    const goneAway = () => settle(new Error("The client disconnected while sending the body."));
    const take = (chunk: Buffer) => {
      try {
        collector.countWire(chunk.length);
        collector.add(chunk);
        if (chunk.length < wireBytes || wireBytes === 0) watch();
      } catch (error) {
        settle(error);
      }
    };
    request.on("end", settle).on("error", settle).on("close", goneAway).on("data", take);
    // The client may have disconnected before this call.
    if (request.destroyed) goneAway();
  });
}
