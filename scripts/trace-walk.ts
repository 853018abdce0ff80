/**
 * `npm run generate -- walk`: lists the files and functions that one POST uses until its 202, and one record from the log to the
 * current state, according to V8's coverage in a warmed-up service. Writes docs/internal/walk.md.
 */
import { writeFile } from "node:fs/promises";
import { type Profiler, Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";
import { startTestServer } from "../test/support/test-server.ts";

const root = new URL("../", import.meta.url).href;
/** Libraries and the measuring code are not counted. */
const PRODUCT = /^(?:src|packages\/contract)\//;
const WARM_UPS = 50;
/** Counts functions that ran in each of several walks, which excludes timers and maintenance. */
const WALKS = 7;

/** The functions that ran, by file. */
type Walk = ReadonlyMap<string, ReadonlySet<string>>;

class Tracer {
  readonly #session = new Session();

  async start(): Promise<void> {
    this.#session.connect();
    await this.#session.post("Profiler.enable");
    await this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  }

  /** Functions that ran since the last call. */
  async taken(): Promise<Walk> {
    const { result } = (await this.#session.post(
      "Profiler.takePreciseCoverage",
    )) as Profiler.TakePreciseCoverageReturnType;
    const walk = new Map<string, Set<string>>();
    for (const { url, functions } of result) {
      const file = url.startsWith(root) ? url.slice(root.length) : "";
      if (!PRODUCT.test(file)) continue;
      const ran = functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0);
      // An anonymous function belongs to a named one.
      if (ran.length > 0)
        walk.set(file, new Set(ran.map(({ functionName }) => functionName || "(callback)")));
    }
    return walk;
  }

  /** The files and functions that run in each of several walks. */
  async walk(step: () => Promise<unknown>): Promise<Walk> {
    for (let round = 0; round < WARM_UPS; round += 1) await step();
    let common: Walk | undefined;
    for (let round = 0; round < WALKS; round += 1) {
      await this.taken();
      await step();
      const walk = await this.taken();
      common = common === undefined ? walk : intersection(common, walk);
    }
    return common ?? new Map();
  }
}

function intersection(one: Walk, other: Walk): Walk {
  const both = new Map<string, ReadonlySet<string>>();
  for (const [file, functions] of one) {
    const common = functions.intersection(other.get(file) ?? new Set());
    if (common.size > 0) both.set(file, common);
  }
  return both;
}

/** This thread serves HTTP; all other work is on other threads. */
async function walkOfPost(tracer: Tracer): Promise<Walk> {
  const { startTestService } = await import("../test/support/service.ts");
  const { reservationRecord } = await import("../test/support/records.ts");
  const service = await startTestService({ httpThreads: 1, roles: ["accept"] });
  try {
    const headers = { authorization: `Bearer ${await service.token()}`, "content-type": "application/json" };
    const address = new URL("/api/public/v1/reservations", service.address);
    return await tracer.walk(async () => {
      const body = JSON.stringify([reservationRecord()]);
      const { status } = await fetch(address, { method: "POST", headers, body });
      if (status !== 202) throw new Error(`A POST was answered ${status}.`);
    });
  } finally {
    await service.stop();
  }
}

/** This thread runs only the applier. The record is in the log before the walk begins. */
async function walkOfRecord(tracer: Tracer): Promise<Walk> {
  const { ApplyBench, reservation } = await import("../test/support/apply-bench.ts");
  const bench = await ApplyBench.open();
  let blocked: string | undefined = "filling";
  const applier = bench.newApplier("walk", { blocked: () => blocked });
  applier.start();
  let count = 0;
  try {
    return await tracer.walk(async () => {
      blocked = "filling";
      const requestId = await bench.accept([reservation(`R-${++count}`, "2026-03-01T10:00:00Z", "web")]);
      await tracer.taken();
      blocked = undefined;
      applier.wake([]);
      await bench.outcomesOf(requestId);
    });
  } finally {
    await applier.stop();
    await bench.close();
  }
}

function table(walk: Walk): string {
  const rows = [...walk].sort(([one], [other]) => (one < other ? -1 : 1));
  const lines = rows.map(([file, functions]) => `| \`${file}\` | ${[...functions].sort().join(", ")} |`);
  return ["| file | functions |", "|---|---|", ...lines].join("\n");
}

const server = await startTestServer();
process.env["TEST_DATABASE_URL"] = server.url;
try {
  const tracer = new Tracer();
  await tracer.start();
  const post = await walkOfPost(tracer);
  const record = await walkOfRecord(tracer);
  const text = `# The files on the way of a batch

Written by \`npm run generate -- walk\` from the functions that run in a warmed service; files of \`src/\` and \`packages/contract\`, with log writer
and log line, without the libraries.

## A POST of one reservation to its 202: ${post.size} files (goal: 20)

${table(post)}

## A new reservation from the log to current state: ${record.size} files (goal: 35)

${table(record)}
`;
  await writeFile(fileURLToPath(new URL("../docs/internal/walk.md", import.meta.url)), text);
  console.log(`A POST passes ${post.size} files, a record ${record.size}: docs/internal/walk.md`);
} finally {
  await server.stop();
}
