import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createTestDatabase } from "../support/database.ts";
import { FIRE_LIMITS } from "./broken-encodings.ts";
import { compareWithLog, type FireReport, fire } from "./fire.ts";
import { startServiceProcess } from "./service-process.ts";
import { PROPERTIES } from "./shot.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

/** Resident memory of the service when so many shots were fired. */
export interface MemorySample {
  readonly fired: number;
  readonly mib: number;
}

export interface ServiceFireReport extends Omit<FireReport, "problems"> {
  readonly seconds: number;
  readonly memory: readonly MemorySample[];
  /** Resident memory at the end less that after the warm-up, each the median of a tenth of the samples; MiB. */
  readonly grownMib: number;
  readonly problems: readonly string[];
}

export interface ServiceFireOptions {
  readonly count: number;
  readonly seed: number;
  readonly connections: number;
  readonly onSample?: (sample: MemorySample) => void;
}

/** Fires at a service in a process of its own, on a database of its own, and compares its log with its answers. */
export async function fireAtService(options: ServiceFireOptions): Promise<ServiceFireReport> {
  const database = await createTestDatabase();
  const service = await startServiceProcess(database.url, {
    BODY_LIMIT_BYTES: String(FIRE_LIMITS.bodyBytesMax),
    INFLATED_LIMIT_BYTES: String(FIRE_LIMITS.inflatedBytesMax),
  });
  try {
    const token = await takeToken(service.address, database.url);
    const memory: MemorySample[] = [];
    const startedAt = performance.now();
    const report = await fire({
      ...options,
      address: service.address,
      token,
      process: service.process,
      async progress(fired) {
        const sample = { fired, mib: await service.residentMib() };
        memory.push(sample);
        options.onSample?.(sample);
      },
    });
    const seconds = (performance.now() - startedAt) / 1000;
    const { fired, byStatus, byKind, accepted, problemCount } = report;
    const problems = [...report.problems, ...(await compareWithLog(database.pool, accepted))];
    problems.push(...service.errors.slice(0, 10).map((line) => `the service logged ${line}`));
    const grownMib = growthOf(memory);
    return { fired, byStatus, byKind, accepted, problemCount, problems, seconds, memory, grownMib };
  } finally {
    await service.stop();
    await database.drop();
  }
}

/** A client of the two properties, made as an operator makes it, and its token. */
async function takeToken(address: string, databaseUrl: string): Promise<string> {
  const grants = PROPERTIES.flatMap((property) => ["--grant", `ACME/${property}`]);
  const args = ["client", "create", "--name", "Fire", "--rate", "100000", "--burst", "100000", "--json"];
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, ...args, ...grants], {
    env: { ...process.env, DATABASE_URL: databaseUrl },
  });
  const { client_id, client_secret } = JSON.parse(stdout) as { client_id: string; client_secret: string };
  const response = await fetch(`${address}/api/oauth2/token`, {
    method: "POST",
    body: new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret }),
  });
  return ((await response.json()) as { access_token: string }).access_token;
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
