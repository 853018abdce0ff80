import { createTestDatabase } from "../support/database.ts";
import { FIRE_LIMITS } from "./broken-encodings.ts";
import { compareWithLog, type FireReport, fire } from "./fire.ts";
import { privateWords } from "./judge-answers.ts";
import { type ServiceProcess, startServiceProcess } from "./service-process.ts";
import { type Arms, GUEST } from "./shot.ts";
import { takeArms } from "./take-arms.ts";
import type { TargetName } from "./target.ts";

/** Resident memory of the service when so many shots were fired. */
export interface MemorySample {
  readonly fired: number;
  readonly mib: number;
}

export interface ServiceFireReport extends Omit<FireReport, "problems"> {
  readonly target: TargetName;
  readonly seconds: number;
  readonly memory: readonly MemorySample[];
  /** Resident memory at the end less that after the warm-up, each the median of a tenth of the samples; MiB. */
  readonly grownMib: number;
  /** Lines of the service's log that were looked through. */
  readonly logLines: number;
  readonly problems: readonly string[];
}

export interface ServiceFireOptions {
  /** How many at each target; one after another, in this order. */
  readonly shots: Readonly<Partial<Record<TargetName, number>>>;
  readonly seed: number;
  readonly connections: number;
  readonly onSample?: (sample: MemorySample) => void;
}

/** Of methods, routes, statuses, codes and buckets there are so many that all series together are fewer. */
const SERIES_MAX = 1_500;

/**
 * Fires at a service in a process of its own, on a database of its own, one target after another; compares its log of batches
 * with its answers, and looks through what it wrote and measured for what must not be there.
 */
export async function fireAtService(options: ServiceFireOptions): Promise<ServiceFireReport[]> {
  const database = await createTestDatabase();
  const service = await startServiceProcess(database.url, {
    BODY_LIMIT_BYTES: String(FIRE_LIMITS.bodyBytesMax),
    INFLATED_LIMIT_BYTES: String(FIRE_LIMITS.inflatedBytesMax),
    LOG_LEVEL: "debug",
  });
  try {
    const { arms, pushed } = await takeArms(service.address, database.url);
    service.watchFor([...privateWords(arms), GUEST]);
    const accepted = new Set(pushed);
    const reports: ServiceFireReport[] = [];
    for (const [target, count] of Object.entries(options.shots) as [TargetName, number][]) {
      // A bucket holds a thousand tokens at most, and a fire takes more.
      const refill = () => database.pool.query("delete from bellhop.token_bucket");
      const report = await fireAt(target, service, arms, { ...options, count, refill });
      for (const id of report.accepted) accepted.add(id);
      const problems = [
        ...report.problems,
        ...(await compareWithLog(database.pool, accepted)),
        ...service.takeComplaints(),
        ...(await metricsFaults(service.address, arms)),
      ];
      reports.push({ ...report, problems });
    }
    return reports;
  } finally {
    await service.stop();
    await database.drop();
  }
}

async function fireAt(
  target: TargetName,
  service: ServiceProcess,
  arms: Arms,
  {
    onSample,
    refill,
    ...options
  }: Omit<ServiceFireOptions, "shots"> & {
    readonly count: number;
    readonly refill: () => Promise<unknown>;
  },
): Promise<ServiceFireReport> {
  const memory: MemorySample[] = [];
  const linesBefore = service.logLines();
  const startedAt = performance.now();
  const report = await fire({
    ...options,
    target,
    arms,
    address: service.address,
    process: service.process,
    async progress(fired) {
      await refill();
      const sample = { fired, mib: await service.residentMib() };
      memory.push(sample);
      onSample?.(sample);
    },
  });
  const seconds = (performance.now() - startedAt) / 1000;
  const { fired, byStatus, byKind, accepted, problemCount, problems } = report;
  const logLines = service.logLines() - linesBefore;
  const grownMib = growthOf(memory);
  return {
    target,
    fired,
    byStatus,
    byKind,
    accepted,
    problemCount,
    problems,
    seconds,
    memory,
    grownMib,
    logLines,
  };
}

/** Labels are few, and none of them is anything that was sent. */
async function metricsFaults(address: string, arms: Arms): Promise<string[]> {
  const text = await (await fetch(`${address}/metrics`)).text();
  const series = text.split("\n").filter((line) => line.startsWith("bellhop_"));
  const faults = [...privateWords(arms), GUEST]
    .filter((word) => text.includes(word))
    .map((word) => `${word.slice(0, 8)}… is in the metrics`);
  if (series.length > SERIES_MAX) faults.push(`${series.length} series of metrics`);
  const odd = series.find((line) => !/^\w+(?:\{(?:\w+="[\w.:/+ *-]*",?)*\})? [\d.e+-]+$/.test(line));
  if (odd !== undefined) faults.push(`a label that is none of ours: ${odd.slice(0, 200)}`);
  return faults;
}

/** The warm-up is the first fifth of the fire: code is compiled, pools and caches fill. */
function growthOf(memory: readonly MemorySample[]): number {
  const tenth = Math.max(1, Math.floor(memory.length / 10));
  const warm = memory.slice(tenth * 2, tenth * 3);
  return medianMib(memory.slice(-tenth)) - medianMib(warm);
}

function medianMib(samples: readonly MemorySample[]): number {
  const sorted = samples.map(({ mib }) => mib).sort((left, right) => left - right);
  return sorted[sorted.length >> 1] ?? 0;
}
