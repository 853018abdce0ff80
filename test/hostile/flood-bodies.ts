import { type ChildProcess, execFile } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { percentile } from "../../bench/statistics.ts";
import type { OpenApiDocument } from "../../src/platform/http/openapi/model.ts";
import { createTestDatabase } from "../support/database.ts";
import { inventoryRecord } from "../support/records.ts";
import { startElsewhere } from "./elsewhere.ts";
import type { FloodOrder, Visit } from "./flood-process.ts";
import { type FloodedRoute, floodedRoutes } from "./flood-routes.ts";
import { readWorst } from "./read-worst.ts";
import { type ServiceProcess, startServiceProcess } from "./service-process.ts";
import { takeArms } from "./take-arms.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

/** A neighbour pushes as often. */
const PUSH_EVERY_MS = 20;
/** Of each route, with and without credentials, before anything is measured. */
const USES = 10;
/** Before the flood: warm-up, then the time whose p99 it is compared with, then the same flood at a process that reads it. */
const WARM_UP_MS = 3_000;
const BEFORE_MS = 10_000;
const CONTROL_MS = 10_000;
const RSS_MIB_MAX = 512;
/** Linux counts processor time for others in hundredths of a second. */
const TICK_MS = 10;
const P99_FACTOR_MAX = 1.2;
const P99_ADDED_MS_MAX = 10;

/** The last phase: reads instead of a flood. */
const WORST = "worst records";

export interface FloodOptions {
  /** Routes whose method and path contain this, and the worst records if their name does; all by default. */
  readonly routes: string;
  readonly secondsEach: number;
  readonly megabitsPerSecond: number;
  readonly onRoute?: (visited: VisitedRoute) => void;
}

/** What was seen of the service while one route was flooded. */
export interface VisitedRoute {
  readonly name: string;
  readonly connections: number;
  readonly pushes: number;
  readonly p99: number;
  readonly rssMib: number;
  /** Of all threads, before the garbage collection that it may need: the rest is buffers, stacks and code. */
  readonly heapMib: number;
}

export interface FloodReport {
  readonly routes: readonly VisitedRoute[];
  readonly p99Before: number;
  /** While the same flood went to a process that only reads it: what the machine being full does alone. */
  readonly p99Control: number;
  readonly p99: number;
  /** Of a processor that the service used, in the time before and during the flood. */
  readonly busyBefore: number;
  readonly busy: number;
  readonly peakRssMib: number;
  /** Goals that were missed. */
  readonly problems: readonly string[];
}

/** Floods every route of a service in a process of its own, one after another, while a neighbour pushes. */
export async function floodBodies(options: FloodOptions): Promise<FloodReport> {
  const database = await createTestDatabase();
  const service = await startServiceProcess(database.url, { HTTP_THREADS: "2" });
  const [flooder, sink] = [startFlooder(), startFlooder()];
  const { megabitsPerSecond } = options;
  try {
    const { arms } = await takeArms(service.address, database.url);
    const session = await logInToConsole(service.address, database.url);
    const document = (await (await fetch(`${service.address}/openapi.json`)).json()) as OpenApiDocument;
    const all = await floodedRoutes(document);
    const routes = all.filter(({ method, path }) => `${method} ${path}`.includes(options.routes));
    const neighbour = new Neighbour(service.address, arms.foreignToken);
    await useEach(routes, Number(new URL(service.address).port), session, arms.token);
    await passed(WARM_UP_MS);
    neighbour.take();
    const idle = await busyMeter(service);
    await passed(BEFORE_MS);
    const before = neighbour.take();
    const busyBefore = await idle();
    await visit(flooder, {
      port: await ask(sink, { kind: "sink" }),
      heads: Array.from({ length: 2 }, () => "POST / HTTP/1.1\r\n"),
      milliseconds: CONTROL_MS,
      megabitsPerSecond,
    });
    const control = neighbour.take();
    sink.kill();
    const flooded = await busyMeter(service);
    const visited: VisitedRoute[] = [];
    const during: number[] = [];
    const problems: string[] = [];
    for (const route of routes) {
      if (service.process.exitCode !== null || service.process.signalCode !== null) break;
      const heads = [
        headOf(route, []),
        headOf(route, route.isConsole ? session : [`Authorization: Bearer ${arms.token}`]),
      ];
      const milliseconds = options.secondsEach * 1_000;
      const port = Number(new URL(service.address).port);
      const connections = await visit(flooder, { port, heads, milliseconds, megabitsPerSecond });
      const times = neighbour.take();
      during.push(...times);
      const seen = {
        name: `${route.method} ${route.path}`,
        connections,
        pushes: times.length,
        p99: p99Of(times),
        ...(await memoryOf(service)),
      };
      visited.push(seen);
      options.onRoute?.(seen);
    }
    if (WORST.includes(options.routes)) {
      const read = await readWorst(service.address, arms.token, session, all);
      const times = neighbour.take();
      during.push(...times);
      const seen = {
        name: `${WORST}, ${read.questions} reads`,
        connections: read.answered,
        pushes: times.length,
        p99: p99Of(times),
        ...(await memoryOf(service)),
      };
      visited.push(seen);
      options.onRoute?.(seen);
      problems.push(...read.problems);
    }
    const isUp = await fetch(`${service.address}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    );
    const busy = await flooded();
    await neighbour.stop();
    if (!isUp || visited.length < routes.length) problems.push("the service is not up");
    problems.push(...neighbour.refused.map((what) => `the neighbour's batch was refused: ${what}`));
    const [p99Before, p99Control, p99] = [p99Of(before), p99Of(control), p99Of(during)];
    const p99Max = Math.max(p99Before * P99_FACTOR_MAX, p99Before + P99_ADDED_MS_MAX);
    if (!(p99 <= p99Max))
      problems.push(`the neighbour's p99 was ${p99.toFixed(1)} ms, more than ${p99Max.toFixed(1)}`);
    const peakRssMib = await peakRss(service);
    if (!(peakRssMib < RSS_MIB_MAX))
      problems.push(`the process had ${peakRssMib} MiB, ${RSS_MIB_MAX} or more`);
    return { routes: visited, p99Before, p99Control, p99, busyBefore, busy, peakRssMib, problems };
  } finally {
    for (const process of [flooder, sink]) process.kill();
    await service.stop();
    await database.drop();
  }
}

const passed = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const p99Of = (times: readonly number[]) => percentile(times, 0.99);

async function memoryOf(service: ServiceProcess): Promise<{ rssMib: number; heapMib: number }> {
  const text = await fetch(`${service.address}/metrics`).then(
    (answer) => answer.text(),
    () => "",
  );
  const heaps = text.matchAll(/^bellhop_thread_heap_bytes\{[^}]*\} (\S+)$/gm);
  const heapMib = Math.round([...heaps].reduce((sum, [, bytes]) => sum + Number(bytes), 0) / 1_048_576);
  return { rssMib: await service.residentMib(), heapMib };
}

const startFlooder = () => startElsewhere(new URL("./flood-process.ts", import.meta.url));

const visit = (flooder: ChildProcess, order: Visit) => ask(flooder, { kind: "flood", visit: order });

async function ask(flooder: ChildProcess, order: FloodOrder): Promise<number> {
  flooder.send(order);
  const [answer] = (await once(flooder, "message")) as [number];
  return answer;
}

/** Begins to measure how much of a processor a process uses; 0 where the system does not say. */
async function busyMeter({ process: { pid } }: ServiceProcess): Promise<() => Promise<number>> {
  const ticks = async () => {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
  };
  const [startedAt, before] = [performance.now(), await ticks()];
  return async () => (((await ticks()) - before) * TICK_MS) / (performance.now() - startedAt);
}

/** Asks each route as a quiet client would, so that no flood meets code that has never run. */
async function useEach(
  routes: readonly FloodedRoute[],
  port: number,
  session: readonly string[],
  token: string,
): Promise<void> {
  for (const route of routes) {
    const own = route.isConsole ? session : [`Authorization: Bearer ${token}`];
    for (const credentials of [[], own]) {
      for (let time = 0; time < USES; time += 1) await askOnce(port, headOf(route, credentials));
    }
  }
}

/** One request on a connection of its own, which ends when it is answered. */
async function askOnce(port: number, head: string): Promise<void> {
  const socket = connect({ port, host: "127.0.0.1" }).on("error", () => undefined);
  socket.resume().write(`${head}Connection: close\r\nContent-Length: 0\r\n\r\n`);
  await once(socket, "close");
}

/** The beginning of a request to a route, which its body's framing follows. What a path names need not exist. */
function headOf({ method, path, isConsole }: FloodedRoute, credentials: readonly string[]): string {
  const type = path.includes("oauth2") ? "application/x-www-form-urlencoded" : "application/json";
  const origin = isConsole ? ["Sec-Fetch-Site: same-origin"] : [];
  const lines = ["Host: 127.0.0.1", `Content-Type: ${type}`, ...origin, ...credentials];
  return `${method} ${path.replaceAll(/\{\w+\}/g, "01999999-0000-7000-8000-000000000000")} HTTP/1.1\r\n${lines.join("\r\n")}\r\n`;
}

/** Makes an operator as an operator makes one, and answers the headers of its session. */
async function logInToConsole(address: string, databaseUrl: string): Promise<string[]> {
  const env = { ...process.env, DATABASE_URL: databaseUrl };
  const made = promisify(execFile)(
    process.execPath,
    [MAIN, "operator", "create", "flood", "--password-stdin"],
    { env },
  );
  const password = "correct horse battery";
  made.child.stdin?.end(`${password}\n`);
  await made;
  const answer = await fetch(`${address}/console/api/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "flood", password }),
  });
  if (answer.status !== 200) throw new Error(`no login: ${answer.status} ${await answer.text()}`);
  const { csrfToken } = (await answer.json()) as { csrfToken: string };
  const cookie = answer.headers.get("set-cookie")?.split(";", 1)[0];
  return [`Cookie: ${cookie}`, `X-Bellhop-Csrf: ${csrfToken}`];
}

/** The most that the process had in memory since its start, in MiB; 0 where the system does not tell. */
async function peakRss({ process: { pid } }: ServiceProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Math.round(Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024);
}

/** A partner that pushes batches of one record at a steady rate, on connections that stay open. */
class Neighbour {
  readonly refused: string[] = [];
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 8 });
  readonly #timer: NodeJS.Timeout;
  readonly #open = new Set<Promise<void>>();
  #times: number[] = [];
  #pushed = 0;

  constructor(address: string, token: string) {
    this.#timer = setInterval(() => {
      const push = this.#push(address, token).finally(() => this.#open.delete(push));
      this.#open.add(push);
    }, PUSH_EVERY_MS);
  }

  /** How long each batch took that was answered since this was last asked, in milliseconds. */
  take(): readonly number[] {
    const times = this.#times;
    this.#times = [];
    return times;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#open);
    this.#agent.destroy();
  }

  async #push(address: string, token: string): Promise<void> {
    this.#pushed += 1;
    const day = new Date(Date.UTC(2027, 0, 1 + (this.#pushed % 700))).toISOString().slice(0, 10);
    const codes = { clientCode: "CHAIN", propertyCode: "ZRH01", occupancyDate: day };
    const body = JSON.stringify([inventoryRecord(codes)]);
    const headers = {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    };
    const startedAt = performance.now();
    const { promise, resolve } = Promise.withResolvers<string>();
    const sent = request(`${address}/api/public/v1/inventories`, {
      method: "POST",
      agent: this.#agent,
      headers,
    });
    sent.once("response", (response) => {
      response.resume().once("end", () => resolve(String(response.statusCode)));
    });
    sent.once("error", ({ message }) => resolve(message));
    sent.end(body);
    const answer = await promise;
    this.#times.push(performance.now() - startedAt);
    if (answer !== "202" && this.refused.length < 10) this.refused.push(answer);
  }
}
