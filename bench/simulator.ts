import { BellhopClient } from "#client";
import { makeApart } from "#simulator/packed-day.ts";
import { sendSimulation } from "#simulator/send-simulation.ts";
import { simulate } from "#simulator/simulation.ts";
import { readOptions } from "../scripts/read-options.ts";
import { startChildServer } from "./child-server.ts";

const USAGE = `node bench/simulator.ts [--properties 20] [--days 30] [--horizon 365] [--batch 1000] [--concurrency 4] [--rounds 3]

What the simulator makes and sends against a receiver that does nothing, in records a second and in CPU of its own a record: the
making alone, made on a thread while it is sent (as "bellhop simulate" does), and sent when all of it is made (--ahead). The days are
measured, the cold start is not.
`;

const values = readOptions(USAGE, {
  properties: { type: "string", default: "20" },
  days: { type: "string", default: "30" },
  horizon: { type: "string", default: "365" },
  batch: { type: "string", default: "1000" },
  concurrency: { type: "string", default: "4" },
  rounds: { type: "string", default: "3" },
});
const options = {
  seed: 1,
  properties: Number(values.properties),
  days: Number(values.days),
  start: "2025-01-01",
  clientCode: "DEMO",
  horizonDays: Number(values.horizon),
  faults: new Set<never>(),
};

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

async function make(): Promise<void> {
  const days = simulate(options);
  days.next();
  await measure("made", async () => {
    let records = 0;
    let bytes = 0;
    for (const { waves } of days)
      for (const wave of waves)
        for (const { json } of wave) {
          records += 1;
          bytes += json.length;
        }
    return { records, bytes };
  });
}

async function send(name: string, bellhop: BellhopClient, aheadBytes: number): Promise<void> {
  const packing = { batchRecords: Number(values.batch), isPaced: false };
  const days = makeApart(options, { ...packing, aheadBytes });
  // Once the cold start arrives, all bodies are prepared.
  await days.next();
  let bytes = 0;
  await measure(name, async () => {
    const sent = await sendSimulation(days, bellhop, {
      concurrency: Number(values.concurrency),
      speed: undefined,
      waitForOutcomes: false,
      lenient: false,
      onDay: (_, day) => {
        bytes += day.bytes;
      },
    });
    return { records: sent.accepted, bytes };
  });
}

const receiver = await startChildServer(new URL("./null-receiver.ts", import.meta.url), {});
const bellhop = new BellhopClient({
  baseUrl: `http://127.0.0.1:${receiver.ready.port}`,
  clientId: "bench",
  clientSecret: "bench",
  compression: "none",
});
for (let round = 0; round < Number(values.rounds); round += 1) {
  await make();
  await send("made on a thread and sent", bellhop, 0);
  await send("made ahead and sent", bellhop, Number.MAX_SAFE_INTEGER);
}
await receiver.stop();
