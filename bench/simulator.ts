import { BellhopClient } from "#client";
import { readOptions } from "../scripts/read-options.ts";
import { sendSimulation } from "../src/simulate/send-simulation.ts";
import { simulate } from "../src/simulate/simulation.ts";
import { startChildServer } from "./child-server.ts";

const USAGE = `node bench/simulator.ts [--properties 10] [--days 60] [--horizon 365] [--batch 1000] [--concurrency 4]

What the simulator makes and sends against a receiver that does nothing, in records a second and in CPU of its own a record; and
what of that is making them. The days are measured, the cold start is not.
`;

const values = readOptions(USAGE, {
  properties: { type: "string", default: "10" },
  days: { type: "string", default: "60" },
  horizon: { type: "string", default: "365" },
  batch: { type: "string", default: "1000" },
  concurrency: { type: "string", default: "4" },
});
const options = {
  ...{ seed: 1, properties: Number(values.properties), days: Number(values.days), start: "2025-01-01" },
  ...{ clientCode: "DEMO", horizonDays: Number(values.horizon), faults: new Set<never>() },
};

/** The days of a simulation that is over its cold start already. */
function daysAfterColdStart(): ReturnType<typeof simulate> {
  const days = simulate(options);
  days.next();
  return days;
}

interface Measured {
  readonly records: number;
  readonly bytes: number;
}

async function measure(name: string, run: () => Promise<Measured>): Promise<void> {
  const [startedAt, before] = [performance.now(), process.cpuUsage()];
  const { records, bytes } = await run();
  const seconds = (performance.now() - startedAt) / 1_000;
  const { user, system } = process.cpuUsage(before);
  const perSecond = Math.round(records / seconds).toLocaleString("en-US");
  const cpu = `${(user / records).toFixed(1)} + ${(system / records).toFixed(1)}`;
  console.log(
    `${name}: ${perSecond} records a second, ${(bytes / seconds / 1e6).toFixed(0)} MB/s, ${cpu} us of CPU (user + system) a record (${records.toLocaleString("en-US")} records, ${seconds.toFixed(1)} s)`,
  );
}

const only = daysAfterColdStart();
await measure("made", async () => {
  let records = 0;
  let bytes = 0;
  for (const { waves } of only)
    for (const wave of waves)
      for (const { json } of wave) {
        records += 1;
        bytes += json.length;
      }
  return { records, bytes };
});

const receiver = await startChildServer(new URL("./null-receiver.ts", import.meta.url), {});
const bellhop = new BellhopClient({
  baseUrl: `http://127.0.0.1:${receiver.ready.port}`,
  ...{ clientId: "bench", clientSecret: "bench", compression: "none" },
});
const days = daysAfterColdStart();
let bytes = 0;
await measure("made and sent", async () => {
  const sent = await sendSimulation(days, bellhop, {
    ...{ batchRecords: Number(values.batch), concurrency: Number(values.concurrency), speed: undefined },
    ...{ waitForOutcomes: false, lenient: false },
    onDay: (_, { waves }) => {
      for (const wave of waves) for (const { json } of wave) bytes += json.length;
    },
  });
  return { records: sent.accepted, bytes };
});
await receiver.stop();
