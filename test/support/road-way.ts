import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** How a slow road brings things on: each piece of at most so many bytes, so many milliseconds after the one before. */
export interface Trickle {
  readonly delayMs: number;
  readonly pieceBytes: number;
}

/** What may go on a way now. */
export interface Passage {
  readonly toDatabase: boolean;
  readonly fromDatabase: boolean;
  readonly trickle: Trickle | undefined;
}

const APPLICATION_NAME = /application_name\0([^\0]*)\0/;
/** The tags by which PostgreSQL answers what may have written something: a flush of a log writer, the end of a transaction. */
const ANSWER_TO_A_WRITE = /(?:COMMIT|INSERT 0 \d+)\0/;
/**
 * When keepalives (src/platform/db/connection.ts) have found out: the server's after 10 s and four times 5 s, a client's sooner. Not those
 * of a client that has asked for something since, whose system goes on sending that for a quarter of an hour.
 */
const KEEPALIVE_MS = 30_000;

/** One connection: its client's end is near, the database's is far. */
export class RoadWay {
  readonly #near: Socket;
  readonly #far: Socket;
  readonly #ended: () => void;
  #name = "";
  #isLost = false;
  #wasAskedInVain = false;
  #trickle: Trickle | undefined;
  #whenAnswered: ((answer: Buffer) => void) | undefined;
  /** By the end at which things arrive: whether nothing is taken there now, and whether something is still under way. */
  readonly #held = new Set<Socket>();
  readonly #carrying = new Set<Socket>();

  constructor(near: Socket, far: Socket, ended: () => void) {
    this.#near = near;
    this.#far = far;
    this.#ended = ended;
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from
        .on("error", () => undefined)
        .on("data", (chunk: Buffer) => this.#take(from, to, chunk))
        .on("end", () => this.#isLost || to.end())
        .on("close", () => this.#closed(to));
    }
  }

  /** What the client calls itself (`application_name`); empty until it has said so. */
  get name(): string {
    return this.#name;
  }

  /** Whether it was lost: it leads nowhere, and neither end knows. */
  get isLost(): boolean {
    return this.#isLost;
  }

  go({ toDatabase, fromDatabase, trickle }: Passage): void {
    if (this.#isLost) return;
    this.#trickle = trickle;
    this.#let(this.#near, toDatabase);
    this.#let(this.#far, fromDatabase);
  }

  /** Ends it for both: by RST, or in order by FIN. */
  cut(how: "reset" | "end"): void {
    if (how === "reset") this.#reset();
    else for (const end of [this.#near, this.#far]) end.end();
  }

  /** The next answer to something written breaks off after part of it (`share` of 1), and the way is cut; `then` is called. */
  cutInAnswer(share: number, then: () => void): void {
    this.#whenAnswered = (answer) => {
      this.#near.write(answer.subarray(0, Math.floor(answer.length * share)), () => this.#reset());
      then();
    };
  }

  /** Takes `cutInAnswer` back, if there was no such answer. */
  spareAnswers(): void {
    this.#whenAnswered = undefined;
  }

  /** What a firewall does that has forgotten it: nothing comes through any more, and nobody is notified. */
  lose(): void {
    this.go({ toDatabase: true, fromDatabase: false, trickle: undefined });
    this.#isLost = true;
    setTimeout(() => {
      reset(this.#far);
      if (!this.#wasAskedInVain) reset(this.#near);
    }, KEEPALIVE_MS).unref();
  }

  destroy(): void {
    this.#near.destroy();
    this.#far.destroy();
  }

  /** One end is gone: the other is notified once it has all that was said before, unless the way is lost. */
  #closed(other: Socket): void {
    if (this.#near.closed && this.#far.closed) this.#ended();
    else if (!this.#isLost) other.destroySoon();
  }

  #reset(): void {
    reset(this.#near);
    reset(this.#far);
  }

  #let(from: Socket, mayPass: boolean): void {
    if (mayPass) this.#held.delete(from);
    else this.#held.add(from);
    this.#goOn(from);
  }

  /** What arrives is taken unless it is held, or what came before is not brought on yet. */
  #goOn(from: Socket): void {
    if (this.#held.has(from) || this.#carrying.has(from)) from.pause();
    else from.resume();
  }

  #take(from: Socket, to: Socket, chunk: Buffer): void {
    if (this.#isLost) {
      this.#wasAskedInVain = true;
      return;
    }
    if (from === this.#near && this.#name === "")
      this.#name = APPLICATION_NAME.exec(chunk.toString("latin1"))?.[1] ?? "";
    if (
      from === this.#far &&
      this.#whenAnswered !== undefined &&
      ANSWER_TO_A_WRITE.test(chunk.toString("latin1"))
    ) {
      const cut = this.#whenAnswered;
      this.#whenAnswered = undefined;
      cut(chunk);
      return;
    }
    this.#carrying.add(from);
    this.#goOn(from);
    void this.#carry(to, chunk).then(() => {
      this.#carrying.delete(from);
      this.#goOn(from);
    });
  }

  async #carry(to: Socket, chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length; ) {
      const { delayMs, pieceBytes } = this.#trickle ?? { delayMs: 0, pieceBytes: chunk.length };
      if (delayMs > 0) await delay(delayMs);
      const piece = chunk.subarray(at, at + pieceBytes);
      at += piece.length;
      // Resolves at its end, also by an error, when there is nobody left to bring it to.
      await new Promise<void>((resolve) => {
        to.write(piece, () => resolve());
      });
    }
  }
}

/** By RST; a socket of the file system knows no such thing, and is ended at once. */
function reset(socket: Socket): void {
  if (socket.remoteAddress === undefined) socket.destroy();
  else socket.resetAndDestroy();
}
