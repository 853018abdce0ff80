import type { ChildProcess } from "node:child_process";
import type { Pool } from "pg";
import { type RawAnswer, RawConnection } from "../support/raw-http.ts";
import { SeededRandom } from "../workload/seeded-random.ts";
import { BROKEN_ENCODINGS } from "./broken-encodings.ts";
import { BROKEN_JSON } from "./broken-json.ts";
import { BROKEN_RECORDS } from "./broken-records.ts";
import { BROKEN_REQUESTS } from "./broken-requests.ts";
import type { Shot, ShotMaker } from "./shot.ts";

export interface FireOptions {
  readonly address: string;
  readonly token: string;
  readonly count: number;
  readonly seed: number;
  readonly connections: number;
  /** The service's process: when it dies, so does the fire. */
  readonly process: ChildProcess;
  /** Called about fifty times over the whole fire, and at its end. */
  readonly progress?: (fired: number) => Promise<void>;
}

/** What came of a fire; no `problems` is success. */
export interface FireReport {
  readonly fired: number;
  readonly byStatus: ReadonlyMap<string, number>;
  /** Counts by "kind: status". */
  readonly byKind: ReadonlyMap<string, number>;
  /** Ids of the batches that were answered 202. */
  readonly accepted: ReadonlySet<string>;
  readonly problemCount: number;
  /** The first problems, with the shot's number: the same seed makes the same shot. */
  readonly problems: readonly string[];
}

const SHARES = [...BROKEN_JSON, ...BROKEN_RECORDS, ...BROKEN_ENCODINGS, ...BROKEN_REQUESTS];
const SHARES_TOTAL = SHARES.reduce((sum, [share]) => sum + share, 0);
/** An answer takes milliseconds; a connection that says nothing for so long hangs. */
const HANG_MS = 20_000;
const PROBLEMS_TOLD_MAX = 50;

/** The shot of this number: each is made from a stream of its own, so that one can be made again alone. */
export function makeShot(seed: number, number: number, token: string): Shot {
  const random = SeededRandom.stream(seed, number);
  let at = random.between(0, SHARES_TOTAL - 1);
  const [, make] = SHARES.find(([share]) => {
    at -= share;
    return at < 0;
  }) as readonly [number, ShotMaker];
  return make(random, token);
}

/** Fires so many shots over so many connections, each kept alive as long as the service keeps it. */
export async function fire(options: FireOptions): Promise<FireReport> {
  const run = new Fire(options);
  await Promise.all(Array.from({ length: options.connections }, () => run.gunner()));
  await options.progress?.(run.fired);
  return run;
}

class Fire implements FireReport {
  fired = 0;
  problemCount = 0;
  readonly byStatus = new Map<string, number>();
  readonly byKind = new Map<string, number>();
  readonly accepted = new Set<string>();
  readonly problems: string[] = [];
  readonly #options: FireOptions;
  readonly #progressEvery: number;

  constructor(options: FireOptions) {
    this.#options = options;
    this.#progressEvery = Math.max(1, Math.floor(options.count / 50));
  }

  /** One connection after another, until all shots are fired or the service is gone. */
  async gunner(): Promise<void> {
    const { address, count, seed, token, process, progress } = this.#options;
    let connection: RawConnection | undefined;
    while (this.fired < count && this.problemCount < PROBLEMS_TOLD_MAX) {
      const number = this.fired;
      this.fired += 1;
      if (process.exitCode !== null || process.signalCode !== null) {
        this.#problem(number, `the service died (${process.exitCode ?? process.signalCode})`);
        return;
      }
      const shot = makeShot(seed, number, token);
      try {
        connection ??= await RawConnection.open(address);
        if (await this.#shoot(connection, shot, number)) connection = undefined;
      } catch (error) {
        this.#problem(number, `${shot.kind}: ${String(error)}`);
        connection?.destroy();
        connection = undefined;
      }
      if (this.fired < count && number % this.#progressEvery === 0) await progress?.(this.fired);
    }
    connection?.destroy();
  }

  /** Sends one shot and judges its answer; true when the connection is used up. */
  async #shoot(connection: RawConnection, shot: Shot, number: number): Promise<boolean> {
    connection.write(shot.bytes);
    if (shot.ends === "before-answer") connection.socket.end();
    const answer = await connection.answer(HANG_MS);
    this.#judge(shot, answer, number);
    if (shot.ends === undefined && answer.headers.get("connection") !== "close") return false;
    connection.socket.end();
    // What it still says is about bytes that were no request.
    await connection.closing(HANG_MS);
    for (const [, status] of connection.received.toString("latin1").matchAll(/^HTTP\/1\.1 (\d{3}) /gm)) {
      this.#count(shot.kind, `then ${status}`);
      if (!status?.startsWith("4")) this.#problem(number, `${shot.kind}: then ${status}`);
    }
    connection.destroy();
    return true;
  }

  #judge(shot: Shot, answer: RawAnswer, number: number): void {
    const { status } = answer;
    this.#count(shot.kind, String(status));
    const stored = status === 202;
    if (stored) this.accepted.add(idOf(answer));
    if (!stored && (status < 400 || status > 499)) this.#problem(number, `${shot.kind}: ${status}`);
    if (status === 429) this.#problem(number, `${shot.kind}: 429, so it was not looked at`);
    if (stored && shot.expect === "refused") this.#problem(number, `${shot.kind}: stored`);
    if (!stored && shot.expect === "stored") {
      this.#problem(number, `${shot.kind}: ${status} ${answer.body.toString().slice(0, 600)}`);
    }
    if (stored && shot.expect === "either" && !isPacked(shot) && !isJsonArray(shot.body)) {
      this.#problem(number, `${shot.kind}: stored, although it is no JSON array`);
    }
  }

  #count(kind: string, status: string): void {
    this.byStatus.set(status, (this.byStatus.get(status) ?? 0) + 1);
    this.byKind.set(`${kind}: ${status}`, (this.byKind.get(`${kind}: ${status}`) ?? 0) + 1);
  }

  #problem(number: number, what: string): void {
    this.problemCount += 1;
    if (this.problems.length < PROBLEMS_TOLD_MAX) this.problems.push(`shot ${number}: ${what}`);
  }
}

/** What a damaged compressed body says is not known here. */
function isPacked(shot: Shot): boolean {
  return shot.kind.startsWith("compressed");
}

function isJsonArray(body: Buffer): boolean {
  try {
    return Array.isArray(JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body)));
  } catch {
    return false;
  }
}

function idOf(answer: RawAnswer): string {
  return (JSON.parse(answer.body.toString()) as { requestId: string }).requestId;
}

/** Compares what was answered 202 with what the log holds: nothing else may be there, and nothing may be missing. */
export async function compareWithLog(pool: Pool, accepted: ReadonlySet<string>): Promise<string[]> {
  const { rows } = await pool.query<{ requests: number; foreign: number }>(
    "select count(distinct request_id)::int as requests from bellhop.accept_log",
  );
  const logged = rows[0]?.requests ?? 0;
  const ids = [...accepted];
  let found = 0;
  for (let at = 0; at < ids.length; at += 10_000) {
    const { rows: some } = await pool.query<{ requests: number }>(
      "select count(distinct request_id)::int as requests from bellhop.accept_log where request_id = any($1)",
      [ids.slice(at, at + 10_000)],
    );
    found += some[0]?.requests ?? 0;
  }
  if (logged === ids.length && found === ids.length) return [];
  return [`${ids.length} batches were answered 202, ${found} of them are in the log, which holds ${logged}`];
}
