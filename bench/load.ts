/**
 * The load: a process of its own that prepares a round's bodies first and then sends them as fast as they are answered.
 * Its parent (load-process.ts) tells it what to do; each order is answered once.
 */
import { randomUUID } from "node:crypto";
import { roundBodies } from "./batches.ts";
import type { BenchCase } from "./cases.ts";
import { HttpConnection } from "./http-connection.ts";
import { percentile } from "./statistics.ts";

export type LoadOrder =
  | { readonly kind: "prepare"; readonly benchCase: BenchCase; readonly mark: string }
  | {
      readonly kind: "send";
      readonly port: number;
      readonly path: string;
      readonly token: string;
      readonly connections: number;
      /** The bodies are sent again from the first until so much time has passed; 0 sends each once. */
      readonly atLeastMs: number;
    };

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
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const HOST = "127.0.0.1";

let bodies: Buffer[] = [];

function epochMs(): number {
  return performance.timeOrigin + performance.now();
}

async function send(order: Extract<LoadOrder, { kind: "send" }>): Promise<Sent> {
  const connections = await Promise.all(
    Array.from({ length: order.connections }, () => HttpConnection.open(HOST, order.port)),
  );
  const head = `POST ${order.path} HTTP/1.1\r\nHost: ${HOST}:${order.port}\r\nContent-Type: application/json\r\nAuthorization: Bearer ${order.token}`;
  const durations: number[] = [];
  const startedAt = epochMs();
  let next = 0;
  let bytes = 0;
  const sendOn = async (connection: HttpConnection): Promise<void> => {
    while (next < bodies.length || epochMs() - startedAt < order.atLeastMs) {
      const body = bodies[next % bodies.length] as Buffer;
      next += 1;
      bytes += body.length;
      const sentAt = performance.now();
      const answered = await connection.send(
        `${head}\r\nContent-Length: ${body.length}\r\nIdempotency-Key: ${randomUUID()}`,
        body,
      );
      durations.push(performance.now() - sentAt);
      if (answered.status !== 202)
        throw new Error(`Answered ${answered.status}: ${answered.body.slice(0, 500)}`);
    }
  };
  await Promise.all(connections.map(sendOn));
  const endedAt = epochMs();
  for (const connection of connections) connection.close();
  durations.sort((left, right) => left - right);
  return {
    startedAt,
    endedAt,
    batches: next,
    bytes,
    p50Ms: percentile(durations, 0.5),
    p99Ms: percentile(durations, 0.99),
  };
}

async function obey(order: LoadOrder): Promise<Prepared | Sent> {
  if (order.kind === "send") return await send(order);
  bodies = roundBodies(order.benchCase, order.mark);
  return { batches: bodies.length, bytes: bodies.reduce((sum, body) => sum + body.length, 0) };
}

process.on("message", (order: LoadOrder) => {
  obey(order).then(
    (result) => process.send?.({ result }),
    (error: Error) => process.send?.({ error: error.message }),
  );
});
// Nobody is left to give orders.
process.on("disconnect", () => process.exit());
