/** `npm run backup-load`: what a backup takes from the service while it runs. README.md beside this file. */
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { readOptions } from "../../scripts/read-options.ts";
import { Closers } from "../closers.ts";
import { machineLine, machineOf } from "../machine.ts";
import { startService } from "../started-service.ts";
import { untilDrained } from "../until-drained.ts";
import { type OfferedLoad, orderOf } from "./capacity.ts";
import { ChildTask } from "./child-task.ts";
import { boundlessPartners } from "./partners.ts";
import { type QuietFigures, quietFigures } from "./quiet.ts";
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

const SECONDS = 15;
const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

interface Backup {
  readonly seconds: number;
  readonly megabytes: number;
}

/** Backs up again and again until asked to stop. */
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

function lineOf(what: string, figures: QuietFigures, made: readonly Backup[]): string {
  const { batches, refused, acceptP50, acceptP99, acceptMax, lagP50, lagP99, lagMax } = figures;
  const said = (...ms: readonly number[]) => ms.map((one) => one.toFixed(1)).join(", ");
  const accept = said(acceptP50, acceptP99, acceptMax);
  const backups = made.map(
    ({ seconds, megabytes }) => `${seconds.toFixed(1)} s of ${megabytes.toFixed(0)} MB`,
  );
  return `${what.padEnd(8)} accept p50, p99, max ${accept} ms; apply lag ${said(lagP50, lagP99, lagMax)} ms; ${batches} batches, ${refused} refused${backups.length === 0 ? "" : `; backups: ${backups.join(", ")}`}`;
}

const closers = new Closers();
try {
  const started = await startService("bellhop", {});
  const { service, client } = closers.kept(started);
  const { clientIds, ...targets } = await boundlessPartners(service);
  const steady = closers.kept(new ChildTask(new URL("./steady-load.ts", import.meta.url)));
  const load: OfferedLoad = { ...targets, seed: 1 };
  const rate = Number(values.rate);
  let run = 0;
  const offer = (perSecond: number, seconds: number) =>
    steady.call<SteadyResult>("run", orderOf(load, perSecond, seconds, run++));
  await untilDrained(client, (await offer(2 * rate, Number(values.fill))).startedAt);
  for (let round = 0; round < Number(values.rounds); round += 1) {
    const alone = await quietFigures(client, clientIds, await offer(rate, SECONDS));
    console.log(lineOf("without", alone, []));
    let isOver = false;
    const backups = backUp(service.dataDir, () => isOver);
    await delay(500);
    const result = await offer(rate, SECONDS);
    isOver = true;
    const made = await backups;
    console.log(lineOf("beside", await quietFigures(client, clientIds, result), made));
  }
} finally {
  await closers.close();
}
console.log(machineLine(machineOf()));
