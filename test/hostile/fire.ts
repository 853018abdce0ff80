import type { ChildProcess } from "node:child_process";
import type { Pool } from "pg";
import { type RawAnswer, RawConnection } from "../support/raw-http.ts";
import { createShapeJudge, type ShapeJudge } from "./answer-shape.ts";
import { answersTo } from "./converse.ts";
import { judgeAnswers } from "./judge-answers.ts";
import type { Arms, Shot } from "./shot.ts";
import { makeShot, type TargetName } from "./target.ts";

export interface FireOptions {
  readonly target: TargetName;
  readonly address: string;
  readonly arms: Arms;
  readonly count: number;
  readonly seed: number;
  readonly connections: number;
  /** The service's process: when it dies, so does the fire. */
  readonly process: ChildProcess;
  /** Called fifty times or more over the whole fire, at least after each thousand shots, and at its end. */
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

const PROBLEMS_LISTED_MAX = 50;

/** Fires so many shots over so many connections, each kept alive as long as the service keeps it. */
export async function fire(options: FireOptions): Promise<FireReport> {
  const run = new Fire(options, await createShapeJudge());
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
  readonly #shape: ShapeJudge;
  readonly #progressEvery: number;

  constructor(options: FireOptions, shape: ShapeJudge) {
    this.#options = options;
    this.#shape = shape;
    this.#progressEvery = Math.max(1, Math.min(1_000, Math.floor(options.count / 50)));
  }

  /** One connection after another, until all shots are fired or the service is gone. */
  async gunner(): Promise<void> {
    const { address, arms, count, seed, target, process, progress } = this.#options;
    let connection: RawConnection | undefined;
    while (this.fired < count && this.problemCount < PROBLEMS_LISTED_MAX) {
      const number = this.fired;
      this.fired += 1;
      if (process.exitCode !== null || process.signalCode !== null) {
        this.#problem(number, `the service died (${process.exitCode ?? process.signalCode})`);
        return;
      }
      const shot = makeShot(target, seed, number, arms);
      try {
        connection ??= await RawConnection.open(address);
        const { answers, used } = await answersTo(connection, shot);
        this.#judge(shot, answers, number);
        if (used) connection = undefined;
      } catch (error) {
        this.#problem(number, `${shot.kind}: ${String(error)}`);
        connection?.destroy();
        connection = undefined;
      }
      if (this.fired < count && number % this.#progressEvery === 0) await progress?.(this.fired);
    }
    connection?.destroy();
  }

  #judge(shot: Shot, answers: readonly RawAnswer[], number: number): void {
    answers.forEach((answer, at) => {
      this.#count(shot.kind, at === 0 ? String(answer.status) : `then ${answer.status}`);
      if (answer.status === 202) this.accepted.add(idOf(answer));
    });
    for (const problem of judgeAnswers(shot, answers, this.#options.arms, this.#shape))
      this.#problem(number, `${shot.kind}: ${problem}`);
  }

  #count(kind: string, status: string): void {
    this.byStatus.set(status, (this.byStatus.get(status) ?? 0) + 1);
    this.byKind.set(`${kind}: ${status}`, (this.byKind.get(`${kind}: ${status}`) ?? 0) + 1);
  }

  #problem(number: number, what: string): void {
    this.problemCount += 1;
    if (this.problems.length < PROBLEMS_LISTED_MAX) this.problems.push(`shot ${number}: ${what}`);
  }
}

function idOf(answer: RawAnswer): string {
  const text = answer.body.toString();
  return text.startsWith("{") ? (JSON.parse(text) as { requestId: string }).requestId : text;
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
