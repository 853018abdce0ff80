import { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { freeBuffer } from "./body-buffers.ts";
import { CHUNKS_TOO_SMALL, refuseConnection } from "./refuse-connection.ts";

/** Smaller chunks are copied into one buffer: each as a Buffer of its own takes some 400 bytes, whatever it holds. */
const SMALL_BYTES = 512;
const GATHERED_BYTES = 16_384;

/**
 * The chunks of a body must average this many bytes over any thousand in a row. A chunk of one byte is 6 bytes to send and about a
 * microsecond to read; HTTP clients send what is written at once, records of hundreds of bytes, or fill buffers of 4 to 64 kB.
 */
const CHUNK_BYTES_MEAN = 64;
const CHUNK_CREDIT = 1_000 * CHUNK_BYTES_MEAN;

/**
 * Costs are counted in bytes that are read and dropped. A small chunk costs about a microsecond, whatever its size: as much as
 * this many bytes.
 */
const SMALL_CHUNK_COST = 256;

/** What each request may cost before it takes turns with the others of its thread: most refused bodies are smaller. */
const FREE_COST = 262_144;
/** What a turn grants: about what a socket is read by. */
const TURN_COST = 65_536;
/**
 * What all requests of a thread may cost together in each interval: 32 MB, or 128,000 small chunks, a second. A partner beyond its
 * rate that sent on as fast as it could had 580 MB a second read, which took half of the processor from the others.
 */
const INTERVAL_COST = 5 * TURN_COST;
const INTERVAL_MS = 10;

/** Shares out what a thread spends on bodies that nobody wants, and on small chunks. */
class Pace {
  readonly #waiting: (() => void)[] = [];
  #left = INTERVAL_COST;
  #isCounting = false;

  /** Whether there is something left after this was spent; a debt is paid in the next intervals. */
  spend(cost: number): boolean {
    this.#left -= cost;
    this.#count();
    return this.#left > 0;
  }

  /** Calls back with the next turn, whose cost is then spent. */
  wait(turn: () => boolean): void {
    this.#waiting.push(() => {
      if (turn()) this.#left -= TURN_COST;
    });
    this.#count();
  }

  #count(): void {
    if (this.#isCounting) return;
    this.#isCounting = true;
    setTimeout(() => this.#nextInterval(), INTERVAL_MS);
  }

  #nextInterval(): void {
    this.#isCounting = false;
    this.#left = Math.min(INTERVAL_COST, this.#left + INTERVAL_COST);
    while (this.#left > 0) {
      const turn = this.#waiting.shift();
      if (turn === undefined) break;
      turn();
    }
    // With nobody waiting and nothing spent, there is no interval to count.
    if (this.#left < INTERVAL_COST || this.#waiting.length > 0) this.#count();
  }
}

/**
 * A request whose body costs its bytes, whoever reads it and whether or not anybody does: small chunks are gathered, too many of
 * them are refused, and what costs more than a usual request takes turns with the others.
 */
export abstract class PacedRequest extends IncomingMessage {
  protected abstract readonly pace: Pace;
  #gathered: Buffer | undefined;
  #length = 0;
  #isFlushing = false;
  #chunkCredit = CHUNK_CREDIT;
  #credit = FREE_COST;
  #isWaiting = false;
  #isDrained = false;
  #isRefused = false;

  /** Called by Node with each chunk, and null at the end. `false` stops reading from the socket. */
  override push(chunk: Buffer | null): boolean {
    if (chunk === null) {
      this.#flush();
      return super.push(null);
    }
    if (this.#isRefused) return false;
    this.#chunkCredit = Math.min(CHUNK_CREDIT, this.#chunkCredit + chunk.length - CHUNK_BYTES_MEAN);
    // A small part of a body with a length was a packet of its own, which costs its sender as much.
    if (this.#chunkCredit < 0 && this.headers["transfer-encoding"] !== undefined) return this.#refuse();
    const isSmall = chunk.length < SMALL_BYTES;
    const goesOn = this.#spend((isSmall ? SMALL_CHUNK_COST : 0) + (this.#isDrained ? chunk.length : 0));
    if (this.#isDrained) {
      if (!isSmall) freeBuffer(chunk);
      return goesOn;
    }
    if (isSmall) return this.#gather(chunk) && goesOn;
    this.#flush();
    return super.push(chunk) && goesOn;
  }

  /** Called by the stream when it wants more. */
  override _read(size: number): void {
    if (!this.#isWaiting && !this.#isRefused) super._read(size);
  }

  /**
   * What has come and still comes is dropped, so that the answer reaches a client that sends before it reads; the request's timeout
   * bounds it. Its memory is freed chunk by chunk: a hundred large bodies would leave 64 MB to the garbage collector of each thread.
   */
  drain(): void {
    this.#isDrained = true;
    this.#gathered = undefined;
    this.#length = 0;
    this.resume();
    super._read(0);
  }

  #gather(chunk: Buffer): boolean {
    if (this.#gathered === undefined) {
      // Most small bodies are one chunk, which is passed on as it is.
      this.#gathered = chunk;
    } else {
      if (this.#gathered.length < GATHERED_BYTES) {
        const room = Buffer.allocUnsafeSlow(GATHERED_BYTES);
        this.#gathered.copy(room);
        this.#gathered = room;
      }
      chunk.copy(this.#gathered, this.#length);
    }
    this.#length += chunk.length;
    if (this.#length > GATHERED_BYTES - SMALL_BYTES) return this.#flush();
    if (!this.#isFlushing) {
      this.#isFlushing = true;
      setImmediate(() => {
        this.#isFlushing = false;
        if (!this.destroyed) this.#flush();
      });
    }
    return true;
  }

  #flush(): boolean {
    if (this.#gathered === undefined) return true;
    const gathered = this.#gathered.subarray(0, this.#length);
    this.#gathered = undefined;
    this.#length = 0;
    return super.push(gathered);
  }

  #spend(cost: number): boolean {
    if (cost <= this.#credit) {
      this.#credit -= cost;
      return true;
    }
    const isLeft = this.pace.spend(cost - this.#credit);
    this.#credit = 0;
    // Of a read, all chunks come even after reading was stopped: it need not be stopped for each.
    if (isLeft || this.#isWaiting) return true;
    this.#isWaiting = true;
    this.pace.wait(() => {
      this.#isWaiting = false;
      if (this.destroyed) return false;
      this.#credit = TURN_COST;
      super._read(0);
      return true;
    });
    return false;
  }

  #refuse(): boolean {
    this.#isRefused = true;
    this.#gathered = undefined;
    passOver(this.socket);
    refuseConnection({ code: CHUNKS_TOO_SMALL }, this.socket);
    return false;
  }
}

/**
 * Has the parser pass over what is left of the read that it parses: up to 10,000 chunks of a byte, of which each costs a thirtieth
 * where none is handed over. Where Node's parser is another than the one known here, they cost what they did.
 */
function passOver(socket: Socket): void {
  const parser = (socket as { parser?: Record<string, unknown> | null }).parser ?? {};
  const handler = Object.entries(parser).find(
    ([, value]) => typeof value === "function" && value.name === "parserOnBody",
  );
  if (handler === undefined) return;
  const [key, onBody] = handler;
  parser[key] = null;
  // Parsers are used again by other connections.
  setImmediate(() => {
    parser[key] = onBody;
  });
}

/** The class of the requests of one server, whose bodies take turns with each other. */
export function pacedRequests(): typeof IncomingMessage {
  const ofServer = new Pace();
  return class extends PacedRequest {
    protected readonly pace = ofServer;
  };
}
