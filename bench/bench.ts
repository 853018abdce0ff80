/**
 * `npm run bench [-- --quick] [--rounds N] [--case NAME …] [--json]`: what the service takes in and applies, beside the
 * two limits of the same run. README.md beside this file says what is measured and how.
 */
import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { cpus, release, totalmem } from "node:os";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import pg from "pg";
import { openDatabase } from "../src/db/open-database.ts";
import { createLogger } from "../src/observe/log.ts";
import { roundMark } from "./batches.ts";
import { chooseCases } from "./cases.ts";
import { LoadProcess } from "./load-process.ts";
import { type Bench, measureRound, type RoundFigures } from "./measure-round.ts";
import { ProcessMeter, parentOf } from "./process-meter.ts";
import { type CaseResult, caseLines } from "./report.ts";
import { startServiceProcess } from "./service-process.ts";
import { countStatements, statementTimes } from "./statement-times.ts";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    rounds: { type: "string" },
    case: { type: "string", multiple: true, default: [] },
    json: { type: "boolean", default: false },
    profile: { type: "string" },
  },
});
const rounds = Number(values.rounds ?? (values.quick ? 1 : 3));
if (!Number.isInteger(rounds) || rounds < 1) throw new Error("--rounds takes a whole number from 1.");
const cases = chooseCases(values.case, values.quick);

function say(line: string): void {
  // With --json, standard output is the result alone.
  if (values.json) console.error(line);
  else console.log(line);
}

function commit(): string {
  try {
    return execFileSync("git", ["describe", "--always", "--dirty", "--exclude=*"], {
      encoding: "utf8",
    }).trim();
  } catch {
    return "unknown";
  }
}

/** Told at the end of a run that measured. */
let beforeClosing = async (): Promise<void> => undefined;
const closers: (() => unknown)[] = [];

async function open(): Promise<Bench> {
  const service = await startServiceProcess(
    values.profile === undefined
      ? {}
      : { nodeOptions: ["--cpu-prof", `--cpu-prof-dir=${resolve(values.profile)}`], statements: true },
  );
  closers.push(() => service.stop());
  const log = createLogger({ level: "silent", pretty: false });
  const database = await openDatabase(
    { databaseUrl: undefined, dataDir: service.dataDir, allowUnsafeDurability: false },
    log,
    { role: "command", poolSize: 1 },
  );
  closers.push(() => database.close());
  if (values.profile !== undefined) {
    await countStatements(database.clientConfig, service.dataDir);
    beforeClosing = async () => {
      const lines = await statementTimes(database.clientConfig, service.dataDir);
      say(`\nStatements, warm-up and COPY included:\n${lines.join("\n")}`);
    };
  }
  const client = new pg.Client(database.clientConfig);
  await client.connect();
  closers.push(() => client.end());
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  const bare = fork(fileURLToPath(new URL("./bare-http-server.ts", import.meta.url)));
  closers.push(() => bare.disconnect());
  const [{ port }] = (await once(bare, "message")) as [{ port: number }];
  const load = new LoadProcess();
  closers.push(() => load.stop());
  return {
    service,
    load,
    barePort: port,
    client,
    node: new ProcessMeter(service.pid, false),
    postgres: new ProcessMeter(ProcessMeter.supported ? parentOf(rows[0]?.pid ?? 0) : 0, true),
  };
}

async function measure(bench: Bench): Promise<CaseResult[]> {
  const figures = new Map<string, RoundFigures[]>(cases.map(({ name }) => [name, []]));
  // Round 0 warms up and is not counted. Rounds take turns over the cases, so that what changes on the machine
  // during the run changes all of them.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [number, benchCase] of cases.entries()) {
      const measured = await measureRound(bench, benchCase, roundMark(number, round));
      const rates = `${Math.round(measured.acceptedPerSecond)} accepted/s, ${Math.round(measured.appliedPerSecond)} applied/s`;
      if (!values.json) console.error(`round ${round || "(warm-up)"} ${benchCase.name}: ${rates}`);
      if (round > 0) figures.get(benchCase.name)?.push(measured);
    }
  }
  return cases.map((benchCase) => ({ benchCase, rounds: figures.get(benchCase.name) ?? [] }));
}

const machine = {
  commit: commit(),
  cpu: cpus()[0]?.model ?? "unknown",
  cores: cpus().length,
  memoryGb: Math.round(totalmem() / 1e9),
  system: `${process.platform} ${release()}`,
  node: process.version,
};
async function closeAll(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close();
}
// Nothing is left running by a bench that is interrupted.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => void closeAll().finally(() => process.exit(1)));
}
let results: CaseResult[] = [];
try {
  results = await measure(await open());
  await beforeClosing();
} finally {
  await closeAll();
}
say(
  `bench of ${machine.commit}: ${machine.cores} x ${machine.cpu}, ${machine.memoryGb} GB, ${machine.system}, Node ${machine.node}`,
);
if (!ProcessMeter.supported) say("CPU and memory are measured on Linux only.");
for (const result of results) say(`\n${caseLines(result).join("\n")}`);
if (values.json) console.log(JSON.stringify({ machine, results }, null, 2));
process.exit();
