/** The noise process: performs a kind of noise-kinds.ts against a port until stopped. */
import { setMaxListeners } from "node:events";
import { connect, type Socket } from "node:net";
import { answerOrders } from "../child-task.ts";
import { HttpConnection } from "../http-connection.ts";
import { Sender } from "../sender.ts";
import { bodiesOf, FreshKeys, SHAPES } from "./noise-bodies.ts";
import type { NoiseKind, NoiseOrder, NoiseResult } from "./noise-kinds.ts";

const HOST = "127.0.0.1";
const PATH = "/api/public/v1/reservations";
const TEN_TIMES_PER_SECOND = 500;
const SLOW = { connections: 1_000, bodyBytes: 100_000, everyMs: 1_000 } as const;
const IDLE = { kept: 2_000, halfOpen: 1_000 } as const;
/** Refused connections are retried, so that their number stays constant. */
const AGAIN_MS = 100;

interface Running {
  readonly order: NoiseOrder;
  readonly answers: Record<string, number>;
  readonly startedAt: number;
  readonly cpu: NodeJS.CpuUsage;
  readonly stop: AbortController;
}

let running: Running | undefined;

function count({ answers }: Running, answer: string): void {
  answers[answer] = (answers[answer] ?? 0) + 1;
}

/** Two suffice at the maximum size, as each takes 16 MiB here; a backfill has one. */
const HOTELS_OF: Readonly<Partial<Record<NoiseKind, number>>> = { huge: 2, backfill: 1, "as-live": 1 };
const CONNECTIONS_OF: Readonly<Partial<Record<NoiseKind, number>>> = {
  "ten-times": 32,
  backfill: 4,
  "as-live": 4,
};
const CONNECTIONS = 8;
/** A backfill waits according to `Retry-After`. */
const PUT_OFF_MS = 1_000;

const prepared = new Map<NoiseKind, Buffer[]>();

function preparedBodies(kind: keyof typeof SHAPES): Buffer[] {
  let bodies = prepared.get(kind);
  bodies ??= bodiesOf(SHAPES[kind], HOTELS_OF[kind]);
  prepared.set(kind, bodies);
  return bodies;
}

/** Sends batches over connections with one request at a time each, at most `perSecond`. */
async function sendBatches(noise: Running, kind: keyof typeof SHAPES, perSecondMax: number): Promise<void> {
  const { order, stop } = noise;
  const perSecond = order.perSecond > 0 ? order.perSecond : perSecondMax;
  const bodies = preparedBodies(kind);
  const keys = new FreshKeys();
  const lenient = kind === "rejected" ? ["Prefer: handling=lenient"] : [];
  const target = { port: order.port, path: PATH, headers: [...order.headers, ...lenient], gzip: false };
  let sent = 0;
  const open = async (): Promise<void> => {
    if (stop.signal.aborted) return;
    const connection = await HttpConnection.open(HOST, order.port).catch(() => undefined);
    if (connection === undefined) {
      setTimeout(open, AGAIN_MS);
      return;
    }
    stop.signal.addEventListener("abort", () => connection.close());
    const sender = new Sender(connection, HOST, target);
    const next = () => {
      if (stop.signal.aborted) return;
      const dueAt = noise.startedAt + (sent * 1000) / perSecond;
      const wait = dueAt - performance.now();
      if (wait > 0) {
        setTimeout(next, wait);
        return;
      }
      const body = bodies[sent % bodies.length] as Buffer;
      sent += 1;
      if (kind !== "invalid") keys.write(body);
      sender.send(body, (error, status) => {
        if (stop.signal.aborted) return;
        count(noise, error === undefined ? String(status) : "closed");
        if (error === undefined && status === 429 && HOTELS_OF[kind] === 1) setTimeout(next, PUT_OFF_MS);
        else if (error === undefined) next();
        else void open();
      });
    };
    next();
  };
  for (let opened = 0; opened < (CONNECTIONS_OF[kind] ?? CONNECTIONS); opened += 1) await open();
}

/** Keeps connections open, each acting on its socket; counts responses by their first line. */
async function holdConnections(
  noise: Running,
  connections: number,
  begin: (socket: Socket, closed: AbortSignal) => void,
): Promise<void> {
  const { order, stop } = noise;
  const open = (): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(order.port, HOST);
      const closed = new AbortController();
      const abandon = () => socket.destroy();
      stop.signal.addEventListener("abort", abandon);
      socket.once("connect", () => {
        begin(socket, closed.signal);
        resolve();
      });
      socket.on("data", (data) => count(noise, data.toString("latin1", 9, 12)));
      socket.on("error", () => undefined);
      socket.once("close", () => {
        closed.abort();
        stop.signal.removeEventListener("abort", abandon);
        resolve();
        if (stop.signal.aborted) return;
        count(noise, "closed");
        setTimeout(open, AGAIN_MS);
      });
    });
  for (let opened = 0; opened < connections; opened += 50) {
    await Promise.all(Array.from({ length: Math.min(50, connections - opened) }, open));
  }
}

function headOf({ order }: Running, more: readonly string[]): string {
  return [`POST ${PATH} HTTP/1.1`, `Host: ${HOST}:${order.port}`, ...order.headers, ...more].join("\r\n");
}

function slowBodies(noise: Running): Promise<void> {
  const head = headOf(noise, ["Content-Type: application/json", `Content-Length: ${SLOW.bodyBytes}`]);
  return holdConnections(noise, SLOW.connections, (socket, closed) => {
    socket.write(`${head}\r\n\r\n[`);
    const timer = setInterval(() => socket.write(" "), SLOW.everyMs);
    closed.addEventListener("abort", () => clearInterval(timer));
  });
}

async function idleConnections(noise: Running): Promise<void> {
  await holdConnections(noise, IDLE.kept, () => undefined);
  await holdConnections(noise, IDLE.halfOpen, (socket) => socket.write(headOf(noise, [])));
}

async function start(order: NoiseOrder): Promise<void> {
  const { kind } = order;
  if (kind !== "slow" && kind !== "idle") preparedBodies(kind);
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const noise: Running = { order, answers: {}, startedAt: performance.now(), cpu: process.cpuUsage(), stop };
  running = noise;
  if (kind === "slow") await slowBodies(noise);
  else if (kind === "idle") await idleConnections(noise);
  else await sendBatches(noise, kind, kind === "ten-times" ? TEN_TIMES_PER_SECOND : Number.POSITIVE_INFINITY);
}

function stop(): NoiseResult {
  if (running === undefined) throw new Error("There is no noise to stop.");
  const { answers, startedAt, cpu } = running;
  running.stop.abort();
  running = undefined;
  const { user, system } = process.cpuUsage(cpu);
  return { seconds: (performance.now() - startedAt) / 1000, answers, cpuSeconds: (user + system) / 1e6 };
}

answerOrders({ start, stop });
