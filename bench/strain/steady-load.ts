/**
 * The load of well-behaved partners: a process that sends batches on schedule, independent of responses, and records
 * their latency from when they were due. Controlled through child-task.ts.
 */
import { SeededRandom } from "../../test/workload/seeded-random.ts";
import { Batches } from "../batches.ts";
import { made, PUSH_DATES } from "../cases.ts";
import { answerOrders } from "../child-task.ts";
import { HttpConnection } from "../http-connection.ts";
import { Sender, type Target } from "../sender.ts";

export interface SteadyOrder {
  /** Each partner's targets for reservations and for inventories. */
  readonly targets: readonly Target[];
  readonly pushTargets?: readonly Target[];
  /** Total pushes per second, each of two years of a hotel with one changed date in ten. */
  readonly pushesPerSecond?: number;
  /** Total batches per second of all partners, with exponential gaps. */
  readonly perSecond: number;
  readonly seconds: number;
  /** Connections per partner and target; default 16. */
  readonly connections?: number;
  readonly seed: number;
  /** The number of the run, from 0: runs have different keys. */
  readonly run: number;
  /**
   * With current source times: `again` changes the same reservations and dates, `once` sends new ones. By default new
   * ones with old source times.
   */
  readonly asOfNow?: "again" | "once";
}

/** The result of one batch. */
export interface SentBatch {
  /** Time of the response, in milliseconds since 1970. */
  readonly answeredAt: number;
  /** Milliseconds from when it was due until the response. */
  readonly acceptMs: number;
  /** 0 if the connection failed. */
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
/** Number of batches prepared at once. */
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

/** All reservations again, with changed content. */
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

/** One nightly push per hotel. */
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

/** A schedule of bodies, which are copied because the next round patches them in place. */
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

/** The times at which batches are due, in milliseconds from the start. */
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

/** One partner's connections, and its queue for them. */
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
    // The server closes idle connections.
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
        // The server is down: due batches fail.
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
