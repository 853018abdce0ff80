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
  /** Sends one record of each property of the prepared bodies, so that the service knows the hotels, as of a partner's. */
  | { readonly kind: "introduce"; readonly port: number; readonly path: string; readonly token: string }
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

function headOf({ port, path, token }: { port: number; path: string; token: string }): string {
  return `POST ${path} HTTP/1.1\r\nHost: ${HOST}:${port}\r\nContent-Type: application/json\r\nAuthorization: Bearer ${token}`;
}

async function post(connection: HttpConnection, head: string, body: Buffer): Promise<void> {
  const answered = await connection.send(
    `${head}\r\nContent-Length: ${body.length}\r\nIdempotency-Key: ${randomUUID()}`,
    body,
  );
  if (answered.status !== 202) throw new Error(`Answered ${answered.status}: ${answered.body.slice(0, 500)}`);
}

async function introduce(order: Extract<LoadOrder, { kind: "introduce" }>): Promise<void> {
  const connection = await HttpConnection.open(HOST, order.port);
  const firsts = new Map<string, unknown>();
  for (const body of bodies) {
    const property = /"propertyCode":"[^"]+"/.exec(body.toString("utf8", 0, 512))?.[0] ?? "";
    if (!firsts.has(property)) firsts.set(property, (JSON.parse(body.toString("utf8")) as unknown[])[0]);
  }
  for (const record of firsts.values()) {
    await post(connection, headOf(order), Buffer.from(JSON.stringify([record])));
  }
  connection.close();
}

async function send(order: Extract<LoadOrder, { kind: "send" }>): Promise<Sent> {
  const connections = await Promise.all(
    Array.from({ length: order.connections }, () => HttpConnection.open(HOST, order.port)),
  );
  const head = headOf(order);
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
      await post(connection, head, body);
      durations.push(performance.now() - sentAt);
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

async function obey(order: LoadOrder): Promise<Prepared | Sent | undefined> {
  if (order.kind === "introduce") {
    await introduce(order);
    return undefined;
  }
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
