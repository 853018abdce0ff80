import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createTestDatabase } from "../../support/database.ts";
import { startServiceProcess } from "../service-process.ts";
import type { Arms } from "../shot.ts";
import { type Client, createClient, takeArms } from "../take-arms.ts";
import { type Report, readReport } from "./report.ts";

const CONFIG = fileURLToPath(new URL("schemathesis.toml", import.meta.url));
/** A bucket of tokens is filled again so often: an answer of 429 says nothing about the operation. */
const REFILL_MS = 500;

export interface CampaignOptions {
  /** The command of Schemathesis. */
  readonly command: string;
  readonly maxExamples: number;
  readonly seed: number;
  /** Operation ids; all operations without it. */
  readonly operations: readonly string[];
  readonly onOutput: (text: string) => void;
}

/** Runs Schemathesis over a service in a process of its own, on a database of its own; answers what it found. */
export async function runSchemathesis(options: CampaignOptions): Promise<Report & { log: string[] }> {
  const database = await createTestDatabase();
  const directory = await mkdtemp(join(tmpdir(), "bellhop-schemathesis-"));
  const service = await startServiceProcess(database.url, {
    LOG_LEVEL: "warn",
    // Failed authentications are limited by address and client id: each request names an address of its own.
    TRUSTED_PROXIES: "127.0.0.0/8",
    NEW_PROPERTIES_PER_DAY: "1000000",
  });
  const refill = setInterval(
    () => void database.pool.query("delete from bellhop.token_bucket").catch(() => undefined),
    REFILL_MS,
  );
  try {
    const { arms } = await takeArms(service.address, database.url);
    const introspector = await createClient(database.url, [], ["introspect"]);
    const report = join(directory, "events.ndjson");
    await runTool(service.address, { arms, introspector }, report, options);
    return { ...(await readReport(report)), log: service.takeComplaints() };
  } finally {
    clearInterval(refill);
    await service.stop();
    await database.drop();
    await rm(directory, { recursive: true });
  }
}

async function runTool(
  address: string,
  { arms, introspector }: { readonly arms: Arms; readonly introspector: Client },
  report: string,
  options: CampaignOptions,
): Promise<void> {
  const { command, maxExamples, seed, operations, onOutput } = options;
  const args = [
    "--config-file",
    CONFIG,
    "run",
    `${address}/openapi.json`,
    "--no-color",
    "--checks",
    "all",
    "--max-examples",
    String(maxExamples),
    "--seed",
    String(seed),
    "--report",
    "ndjson",
    "--report-ndjson-path",
    report,
    ...operations.flatMap((id) => ["--include-operation-id", id]),
  ];
  const child = spawn(command, args, {
    // Where the configuration finds its hooks.
    cwd: dirname(CONFIG),
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      PYTHONDONTWRITEBYTECODE: "1",
      BELLHOP_ADDRESS: address,
      BELLHOP_TOKEN: arms.token,
      BELLHOP_CLIENT_ID: arms.clientId,
      BELLHOP_CLIENT_SECRET: arms.clientSecret,
      BELLHOP_INTROSPECTOR_ID: introspector.clientId,
      BELLHOP_INTROSPECTOR_SECRET: introspector.clientSecret,
    },
  });
  child.stdout.setEncoding("utf8").on("data", onOutput);
  // A campaign that is ended early still stops its service and drops its database.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => child.kill());
  const [code] = (await once(child, "close")) as [number | null];
  // 1: a check failed.
  if (code === null || code > 1)
    throw new Error(`Schemathesis ended with ${code}; --output keeps what it printed.`);
}
