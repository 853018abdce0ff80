/** `npm run backup-load`: what a backup takes from the service while it runs. README.md beside this file. */
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type pg from "pg";
import { readOptions } from "../../scripts/read-options.ts";
import { Closers } from "../closers.ts";
import { machineLine, machineOf } from "../machine.ts";
import { startService } from "../started-service.ts";
import { percentile } from "../statistics.ts";
import { untilDrained } from "../until-drained.ts";
import { type OfferedLoad, orderOf } from "./capacity.ts";
import { ChildTask } from "./child-task.ts";
import { newPartner, targetOf } from "./partners.ts";
import type { SteadyResult } from "./steady-load.ts";

const USAGE = `npm run backup-load [-- --rate R] [--fill S] [--rounds N]

Backups while the service takes in what its partners send: how long answers and outcomes take, with and without one.

  --rate R     batches of 20 a second, and a push for each 85; by default 200
  --fill S     seconds of load before the first backup, at twice the rate; by default 40
  --rounds N   pairs; by default 3`;

const values = readOptions(USAGE, {
  rate: { type: "string", default: "200" },
  fill: { type: "string", default: "40" },
  rounds: { type: "string", default: "3" },
});

const PARTNERS = 4;
const RATE_MAX = 100_000;
const SECONDS = 15;
const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

const LAGS = `select extract(epoch from outcome.applied_at - analytics.received_at_of(outcome.request_id))::float8 * 1000 as ms
  from bellhop.request_outcome as outcome where applied_at >= to_timestamp($1) and applied_at < to_timestamp($2) order by 1`;

interface Backup {
  readonly seconds: number;
  readonly megabytes: number;
}

/** Backs up again and again until told to stop. */
async function backUp(dataDir: string, until: () => boolean): Promise<Backup[]> {
  const made: Backup[] = [];
  while (!until()) {
    const file = join(dataDir, "measured.backup");
    const startedAt = performance.now();
    const { stdout } = await promisify(execFile)(process.execPath, [MAIN, "backup", file, "--json"], {
      env: { ...process.env, DATA_DIR: dataDir, DATABASE_URL: "" },
    });
    const { bytes } = JSON.parse(stdout) as { bytes: number };
    made.push({ seconds: (performance.now() - startedAt) / 1000, megabytes: bytes / 1e6 });
    await rm(file, { force: true });
  }
  return made;
}

async function lineOf(what: string, client: pg.Client, result: SteadyResult, made: readonly Backup[]) {
  await untilDrained(client, result.startedAt);
  const answers = result.sent.map(({ acceptMs }) => acceptMs).sort((left, right) => left - right);
  const refused = result.sent.filter(({ status }) => status !== 202).length;
  const { rows } = await client.query<{ ms: number }>(LAGS, [result.startedAt / 1000, result.endedAt / 1000]);
  const lags = rows.map(({ ms }) => ms);
  const said = (of: readonly number[]) =>
    [0.5, 0.99, 1].map((share) => percentile(of, Math.min(share, 1 - 1e-9)).toFixed(1)).join(", ");
  const backups = made.map(
    ({ seconds, megabytes }) => `${seconds.toFixed(1)} s of ${megabytes.toFixed(0)} MB`,
  );
  console.log(
    `${what.padEnd(8)} accept p50, p99, max ${said(answers)} ms; apply lag ${said(lags)} ms; ${result.sent.length} batches, ${refused} refused${backups.length === 0 ? "" : `; backups: ${backups.join(", ")}`}`,
  );
}

const closers = new Closers();
try {
  const started = await startService("bellhop", {});
  const { service, client } = closers.kept(started);
  const partners = [];
  for (let made = 1; made <= PARTNERS; made += 1)
    partners.push(await newPartner(service, `partner ${made}`, RATE_MAX));
  const steady = closers.kept(new ChildTask(new URL("./steady-load.ts", import.meta.url)));
  const load: OfferedLoad = {
    targets: partners.map((partner) => targetOf(service.port, partner, "reservations")),
    pushTargets: partners.map((partner) => targetOf(service.port, partner, "inventories")),
    seed: 1,
  };
  const rate = Number(values.rate);
  let run = 0;
  const offer = (perSecond: number, seconds: number) =>
    steady.call<SteadyResult>("run", orderOf(load, perSecond, seconds, run++));
  await untilDrained(client, (await offer(2 * rate, Number(values.fill))).startedAt);
  for (let round = 0; round < Number(values.rounds); round += 1) {
    await lineOf("without", client, await offer(rate, SECONDS), []);
    let isOver = false;
    const backups = backUp(service.dataDir, () => isOver);
    await delay(500);
    const result = await offer(rate, SECONDS);
    isOver = true;
    await lineOf("beside", client, result, await backups);
  }
} finally {
  await closers.close();
}
console.log(machineLine(machineOf()));
