/**
 * The load process: patches a round's bodies, then sends them as fast as responses arrive or at a given rate.
 * Controlled by load-process.ts.
 */
import { gzipSync } from "node:zlib";
import { Batches } from "./batches.ts";
import type { BenchCase } from "./cases.ts";
import { answerOrders } from "./child-task.ts";
import { flood } from "./flood.ts";
import { HttpConnection } from "./http-connection.ts";
import { Sender } from "./sender.ts";
import { Sending, type SendOrder } from "./sending.ts";
import { percentile } from "./statistics.ts";

export interface Prepared {
  readonly batches: number;
  readonly bytes: number;
}

export interface Sent {
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly batches: number;
  readonly bytes: number;
  readonly cpuSeconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
}

const HOST = "127.0.0.1";

const cases = new Map<string, Batches>();
let bodies: Buffer[] = [];
let zipped: Buffer[] = [];

function epochMs(): number {
  return performance.timeOrigin + performance.now();
}

async function send(order: SendOrder): Promise<Sent> {
  const connections = await Promise.all(
    Array.from({ length: order.connections }, () => HttpConnection.open(HOST, order.target.port)),
  );
  const senders = connections.map((connection) => new Sender(connection, HOST, order.target));
  const cpu = process.cpuUsage();
  const startedAt = epochMs();
  const sending = new Sending(order, senders, order.target.gzip ? zipped : bodies);
  try {
    await sending.run();
  } finally {
    for (const connection of connections) connection.close();
  }
  const endedAt = epochMs();
  const { user, system } = process.cpuUsage(cpu);
  const { durations, batches, bytes } = sending;
  return {
    startedAt,
    endedAt,
    batches,
    bytes,
    cpuSeconds: (user + system) / 1e6,
    p50Ms: percentile(durations, 0.5),
    p99Ms: percentile(durations, 0.99),
    p999Ms: percentile(durations, 0.999),
  };
}

function prepare({ benchCase, round }: { readonly benchCase: BenchCase; readonly round: number }): Prepared {
  let batches = cases.get(benchCase.name);
  if (batches === undefined) {
    batches = new Batches(benchCase);
    cases.set(benchCase.name, batches);
  }
  bodies = batches.bodiesOf(round);
  zipped = benchCase.gzip ? bodies.map((body) => gzipSync(body)) : [];
  return { batches: bodies.length, bytes: bodies.reduce((sum, body) => sum + body.length, 0) };
}

answerOrders({ prepare, send, flood });
