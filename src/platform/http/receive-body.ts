import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ServiceError } from "../errors/registry.ts";
import { freeMemory } from "../runtime/free-memory.ts";
import { monotonicNow, SharedLock, SharedTable } from "../runtime/shared-memory.ts";
import { type Encoding, inflateBody, WINDOW_BYTES_MAX } from "./inflate-body.ts";
import { originOf } from "./networks.ts";

/** Larger buffers are not pooled. */
const POOLED_BYTES_EACH_MAX = 4 * 1_048_576;
/** Limit of the pool of each thread. */
const POOLED_BYTES_MAX = 8 * 1_048_576;
/** Smaller buffers are not pooled. */
const SMALLEST_BYTES = 131_072;

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

/** Clients with bodies in flight, one row each. */
const SHAPE = { rows: 16_384, numbers: 1 } as const;
const BYTES = 0;
/** A lock, the total, and the part of it that is pooled. */
const SUMS_BYTES = 24;
const ALL = 0;
const POOLED = 1;

/** Shared memory of a process's budget. */
export interface BudgetMemory {
  readonly sums: SharedArrayBuffer;
  readonly clients: SharedArrayBuffer;
}

export function allocateBudget(): BudgetMemory {
  return { sums: new SharedArrayBuffer(SUMS_BYTES), clients: SharedTable.allocate(SHAPE) };
}

/**
 * Limits the memory of all bodies of the process, including allocated but unfilled room and pooled buffers. One client gets at most
 * half, so that its stalled bodies cannot block others.
 */
export class BodyBudget {
  readonly #bytesMax: number;
  readonly #clientBytesMax: number;
  readonly #lock: SharedLock;
  readonly #sums: Float64Array;
  readonly #clients: SharedTable;
  readonly #buffers = new BodyBuffers();

  /** `bodyBytesMax`: room of the largest body, the minimum for one client. */
  constructor(bytesMax: number, bodyBytesMax: number, memory = allocateBudget()) {
    this.#bytesMax = bytesMax;
    this.#clientBytesMax = Math.max(bytesMax / 2, bodyBytesMax);
    this.#lock = new SharedLock(new Int32Array(memory.sums, 0, 1), 0);
    this.#sums = new Float64Array(memory.sums, Float64Array.BYTES_PER_ELEMENT, 2);
    this.#clients = new SharedTable(memory.clients, SHAPE);
  }

  /** Bytes of bodies in flight, without the pool. */
  get bytesInUse(): number {
    return this.#lock.run(() => (this.#sums[ALL] as number) - (this.#sums[POOLED] as number));
  }

  /** Reserves bytes for a client; `false` if there is no room. */
  take(clientId: string, bytes: number): boolean {
    if (this.#takeFor(clientId, bytes, () => this.#add(bytes, 0))) return true;
    const pooled = this.#buffers.clear();
    if (pooled === 0) return false;
    this.#add(-pooled, -pooled);
    return this.#takeFor(clientId, bytes, () => this.#add(bytes, 0));
  }

  /** Releases reserved bytes. */
  release(clientId: string, bytes: number): void {
    if (bytes !== 0) this.#release(clientId, bytes, () => this.#add(-bytes, 0));
  }

  /** A pooled or new buffer of exactly this size, reserved for a client. Undefined if there is no room. */
  takeBuffer(clientId: string, size: number): Buffer | undefined {
    const pooled = this.#buffers.take(size);
    if (pooled === undefined) return this.take(clientId, size) ? Buffer.allocUnsafeSlow(size) : undefined;
    if (this.#takeFor(clientId, size, () => this.#add(0, -size))) return pooled;
    if (!this.#buffers.put(pooled)) this.#add(-size, -size);
    return undefined;
  }

  /** Releases an unreferenced buffer to the pool, or frees it. */
  releaseBuffer(clientId: string, buffer: Buffer): void {
    const size = buffer.length;
    const stays = this.#buffers.put(buffer);
    this.#release(clientId, size, () => (stays ? this.#add(0, size) : this.#add(-size, 0)));
  }

  #takeFor(clientId: string, bytes: number, count: () => boolean): boolean {
    const taken = this.#clients.use(
      clientId,
      monotonicNow(),
      (client) => {
        const ofClient = client.get(BYTES) + bytes;
        if (ofClient > this.#clientBytesMax || !count()) return false;
        client.set(BYTES, ofClient);
        return true;
      },
      (other) => other.get(BYTES) === 0,
    );
    return taken === true;
  }

  #release(clientId: string, bytes: number, count: () => boolean): void {
    this.#clients.use(clientId, monotonicNow(), (client) => {
      client.set(BYTES, client.get(BYTES) - bytes);
      count();
    });
  }

  #add(all: number, pooled: number): boolean {
    return this.#lock.run(() => {
      const sum = (this.#sums[ALL] as number) + all;
      if (all > 0 && sum > this.#bytesMax) return false;
      this.#sums[ALL] = sum;
      this.#sums[POOLED] = (this.#sums[POOLED] as number) + pooled;
      return true;
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

const EMPTY = Buffer.alloc(0);
const UNKNOWN: AnnouncedBody = { bytes: 0, windowBytes: 0 };

/** Smaller chunks matter little; large ones slow the garbage collector down if it has to free them. */
const FREED_BYTES_MIN = 16_384;

/** Reserves room in steps, so that the budget is not locked for each chunk. */
const STEP_BYTES = 1_048_576;

/** The maximum room of one body in any encoding, including the buffer that it is copied from. */
export function roomOfLargestBody({ inflatedBytesMax }: BodyLimits): number {
  const window = Math.min(inflatedBytesMax, Math.max(...Object.values(WINDOW_BYTES_MAX)));
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
  /** Bytes reserved besides a buffer of the budget. */
  #reserved = 0;
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

  /** Counts a chunk's bytes on the wire. Throws ServiceError `bellhop.http.PayloadTooLarge`. */
  countWire(bytes: number): void {
    this.#wireBytes += bytes;
    if (this.#wireBytes > this.#limits.bodyBytesMax) throw tooLarge(this.#limits.bodyBytesMax);
  }

  /** Adds decompressed bytes. Throws ServiceError: PayloadTooLarge, or Unavailable when the budget is used up. */
  add(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    const { inflatedBytesMax } = this.#limits;
    if (length > inflatedBytesMax) throw tooLarge(inflatedBytesMax, " when decompressed");
    if (this.#length === 0 && chunk.length >= this.#announced.bytes) {
      // Most bodies are one chunk, which is used without copying.
      this.#needBeside(chunk.length + this.#windowOf(length));
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
   * Moves to a larger buffer: of the announced size, so that a body without room is refused at once, or else twice as large. Beyond the
   * pooled sizes it is one for the largest body, counted as it is filled.
   */
  #grow(length: number): void {
    const { inflatedBytesMax } = this.#limits;
    const wanted = Math.min(
      inflatedBytesMax,
      Math.max(length, this.#announced.bytes, this.#bytes.length * 2),
    );
    const [before, kindBefore] = [this.#bytes, this.#kind];
    if (inflatedBytesMax >= SMALLEST_BYTES && wanted <= POOLED_BYTES_EACH_MAX) {
      const buffer = this.#budget.takeBuffer(this.#clientId, sizeFor(wanted));
      if (buffer === undefined) throw noRoom();
      this.#kind = "pooled";
      this.#bytes = buffer;
    } else {
      // The former buffer exists until it is copied.
      const room = Math.max(length, this.#announced.bytes);
      this.#needBeside(room + this.#windowOf(length) + (kindBefore === "chunk" ? before.length : 0));
      this.#bytes = Buffer.allocUnsafeSlow(this.#announced.bytes > 0 ? room : inflatedBytesMax);
      this.#kind = "own";
    }
    before.copy(this.#bytes, 0, 0, this.#length);
    if (kindBefore === "pooled") this.#budget.releaseBuffer(this.#clientId, before);
    else this.#discard(before);
    this.#leaveBeside(this.#roomBeside(length));
  }

  /** Bytes to reserve for a body of this length, besides a buffer of the budget. */
  #roomBeside(length: number): number {
    const window = this.#windowOf(length);
    return this.#kind === "pooled" ? window : Math.max(length, this.#announced.bytes) + window;
  }

  #windowOf(length: number): number {
    return Math.min(length, this.#announced.windowBytes);
  }

  #needBeside(bytes: number): void {
    if (bytes <= this.#reserved) return;
    const more = Math.max(bytes - this.#reserved, Math.min(this.#reserved, STEP_BYTES));
    if (!this.#budget.take(this.#clientId, more)) throw noRoom();
    this.#reserved += more;
  }

  #leaveBeside(bytes: number): void {
    if (bytes >= this.#reserved) return;
    this.#budget.release(this.#clientId, this.#reserved - bytes);
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

/** Throws ServiceError 415 unless the media type is application/json in UTF-8. */
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
 * Receives a body, counting bytes as they arrive. `onBytes` gets the announced number before any byte is read, then the number received. Throws
 * ServiceError: 413 too large, 415 unknown encoding, 503 no budget, 400 the client left or the data does not decompress.
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
  try {
    if (encoding === undefined) await collect(request, collector);
    else await inflateBody(request, encoding, collector);
    return collector;
  } catch (error) {
    collector.release();
    if (error instanceof ServiceError) throw error;
    const message =
      encoding === undefined ? "The body ended early." : `The body is not valid ${encoding} data.`;
    throw new ServiceError("bellhop.http.BadRequest", { message, cause: error });
  }
}

/** Removes Fastify's body parsers from routes that receive bodies within the budget. */
export function leaveBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
}

/** Receives a small body, perhaps empty, counted for the site (/48) of the client's address. Throws ServiceError as `receiveBody`. */
export async function receiveSmallBody(
  { budget, clientAddress }: { readonly budget: BodyBudget; clientAddress(raw: IncomingMessage): string },
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

/** Uses events, because promises would double the cost per chunk, whose number a hostile client decides. */
function collect(request: IncomingMessage, collector: BodyCollector): Promise<void> {
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
      } catch (error) {
        settle(error);
      }
    };
    request.on("end", settle).on("error", settle).on("close", goneAway).on("data", take);
    // The client may have disconnected before this call.
    if (request.destroyed) goneAway();
  });
}
