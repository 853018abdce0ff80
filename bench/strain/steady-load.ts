/**
 * The load of partners who behave: a process of its own that sends batches when they are due, whether or not others were
 * answered, and notes of each how long its answer took from then. Its parent (child-task.ts) gives the orders.
 */
import { SeededRandom } from "../../test/workload/seeded-random.ts";
import { Batches } from "../batches.ts";
import { made, PUSH_DATES } from "../cases.ts";
import { answerOrders } from "../child-task.ts";
import { HttpConnection } from "../http-connection.ts";
import { Sender, type Target } from "../sender.ts";

export interface SteadyOrder {
  /** Of each partner: where it sends reservations, and where it pushes inventories. */
  readonly targets: readonly Target[];
  readonly pushTargets?: readonly Target[];
  /** Pushes a second of all together, each of two years of a hotel with one date in ten changed. */
  readonly pushesPerSecond?: number;
  /** Batches a second of all partners together; they come as independent arrivals do (exponential gaps). */
  readonly perSecond: number;
  readonly seconds: number;
  /** Connections of each partner for each of its targets, by default 16. */
  readonly connections?: number;
  readonly seed: number;
  /** Counts runs from 0: no two send the same keys. */
  readonly run: number;
  /** As of now: `again` the same reservations, each time changed, and the same dates; `once` new ones. By default new ones of long ago. */
  readonly asOfNow?: "again" | "once";
}

/** What became of one batch. */
export interface SentBatch {
  /** When its answer had come, in milliseconds since 1970. */
  readonly answeredAt: number;
  /** From when it was due until its answer had come. */
  readonly acceptMs: number;
  /** 0 where the connection failed. */
  readonly status: number;
  readonly retryAfter: boolean;
}

export interface SteadyResult {
  /** In milliseconds since 1970. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly sent: readonly SentBatch[];
  readonly cpuSeconds: number;
}

export const RECORDS_PER_BATCH = 20;
const CONNECTIONS_PER_PARTNER = 16;
const HOTELS = 48;
const HOST = "127.0.0.1";
/** Batches that are prepared at a time. */
const BATCHES = 1_200;

const batches = new Batches(
  made(`reservations-${RECORDS_PER_BATCH}-new`, {
    recordsPerRound: BATCHES * RECORDS_PER_BATCH,
    hotels: HOTELS,
    firstHotel: 700_100,
  }),
);
let round = 0;

let changed: Batches | undefined;
let change = 0;

/** All of the reservations once more, each with other content than before. */
function changedBodies(): Buffer[] {
  changed ??= new Batches(
    made(`reservations-${RECORDS_PER_BATCH}-changed`, {
      recordsPerRound: BATCHES * RECORDS_PER_BATCH,
      hotels: HOTELS,
      firstHotel: 700_300,
    }),
  );
  return changed.bodiesOf(change++, Date.now());
}

const PUSH_HOTELS = 80;
let pushes: Batches | undefined;
let night = 0;

/** A night's pushes, one of each hotel. */
function pushBodies(atMs?: number): Buffer[] {
  pushes ??= new Batches(
    made(`inventories-${PUSH_DATES}-unchanged90`, {
      recordsPerRound: PUSH_HOTELS * PUSH_DATES,
      hotels: PUSH_HOTELS,
      firstHotel: 700_200,
    }),
  );
  return pushes.bodiesOf(night++, atMs);
}

/** What is sent when: bodies are copied as they are taken, since the next round patches them in place. */
interface Stream {
  readonly due: readonly number[];
  readonly lines: readonly Line[];
  take(): Buffer;
}

function streamOf(due: readonly number[], lines: readonly Line[], next: () => Buffer[]): Stream {
  let bodies: Buffer[] = [];
  let left = 0;
  return {
    due,
    lines,
    take: () => {
      if (left === 0) {
        bodies = next();
        left = bodies.length;
      }
      left -= 1;
      return Buffer.from(bodies[bodies.length - left - 1] as Buffer);
    },
  };
}

/** The moments at which batches are due, in milliseconds from the start. */
function* arrivals(random: SeededRandom, perSecond: number, seconds: number): Generator<number> {
  let at = 0;
  for (;;) {
    at += (-Math.log((random.next() + 1) / 4_294_967_297) * 1000) / perSecond;
    if (at >= seconds * 1000) return;
    yield at;
  }
}

interface Due {
  readonly body: Buffer;
  readonly at: number;
}

/** One partner's connections, and what waits for one of them. */
class Line {
  readonly #free: Sender[] = [];
  readonly #target: Target;
  readonly #due: Due[] = [];
  readonly #sent: (batch: SentBatch) => void;

  constructor(target: Target, sent: (batch: SentBatch) => void) {
    this.#target = target;
    this.#sent = sent;
  }

  async open(connections: number): Promise<void> {
    for (let opened = 0; opened < connections; opened += 1) await this.#connect();
  }

  close(): void {
    for (const sender of this.#free) sender.connection.close();
  }

  send(body: Buffer, at: number): void {
    this.#due.push({ body, at });
    this.#next();
  }

  async #connect(): Promise<void> {
    this.#free.push(new Sender(await HttpConnection.open(HOST, this.#target.port), HOST, this.#target));
  }

  #next(): void {
    if (this.#due.length === 0) return;
    const sender = this.#free.pop();
    if (sender === undefined) return;
    // The server closes what is idle for long.
    if (sender.connection.isClosed) {
      this.#replace();
      return;
    }
    const { body, at } = this.#due.shift() as Due;
    sender.send(body, (error, status) => {
      const retryAfter =
        error === undefined && status !== 202 && /\r\nretry-after:/i.test(sender.connection.answer);
      this.#note(at, status, retryAfter);
      if (error === undefined) {
        this.#free.push(sender);
        this.#next();
      } else this.#replace();
    });
  }

  #replace(): void {
    this.#connect().then(
      () => this.#next(),
      () => {
        // Nobody listens: what is due fails.
        for (const { at } of this.#due.splice(0)) this.#note(at, 0, false);
      },
    );
  }

  #note(at: number, status: number, retryAfter: boolean): void {
    const now = performance.now();
    this.#sent({ answeredAt: performance.timeOrigin + now, acceptMs: now - at, status, retryAfter });
  }
}

async function run(order: SteadyOrder): Promise<SteadyResult> {
  const { targets, pushTargets = [], perSecond, pushesPerSecond = 0, seconds, seed } = order;
  const sent: SentBatch[] = [];
  const random = SeededRandom.stream(seed, order.run);
  const due = [...arrivals(random, perSecond, seconds)];
  const pushesDue = pushesPerSecond > 0 ? [...arrivals(random, pushesPerSecond, seconds)] : [];
  const finished = Promise.withResolvers<void>();
  const lineOf = (target: Target) =>
    new Line(target, (batch) => {
      sent.push(batch);
      if (sent.length === due.length + pushesDue.length) finished.resolve();
    });
  const streams = [
    streamOf(due, targets.map(lineOf), () =>
      order.asOfNow === "again"
        ? changedBodies()
        : batches.bodiesOf(round++, order.asOfNow === "once" ? Date.now() : undefined),
    ),
    streamOf(pushesDue, pushTargets.map(lineOf), () =>
      pushBodies(order.asOfNow === undefined ? undefined : Date.now()),
    ),
  ];
  const lines = streams.flatMap((stream) => stream.lines);
  for (const line of lines) await line.open(order.connections ?? CONNECTIONS_PER_PARTNER);
  const cpu = process.cpuUsage();
  const start = performance.now();
  for (const stream of streams) sendWhenDue(stream, start);
  if (due.length + pushesDue.length > 0) await finished.promise;
  for (const line of lines) line.close();
  const { user, system } = process.cpuUsage(cpu);
  return {
    startedAt: performance.timeOrigin + start,
    endedAt: performance.timeOrigin + performance.now(),
    sent,
    cpuSeconds: (user + system) / 1e6,
  };
}

function sendWhenDue({ due, lines, take }: Stream, start: number): void {
  let next = 0;
  const sendDue = () => {
    const now = performance.now() - start;
    for (; next < due.length && (due[next] as number) <= now; next += 1) {
      const at = due[next] as number;
      (lines[next % lines.length] as Line).send(take(), start + at);
    }
    if (next < due.length)
      setTimeout(sendDue, Math.max(0, start + (due[next] as number) - performance.now()));
  };
  sendDue();
}

answerOrders({ run });
