/** `npm run campaign -- webhooks`: the effect of one misbehaving webhook receiver on 49 others (bench/strain/README.md). */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { readOptions } from "../../scripts/read-options.ts";
import { createSecretCipher } from "../../src/platform/crypto/secret-cipher.ts";
import { AddressRules } from "../../src/webhooks/address-rules.ts";
import { addWebhook, removeWebhook, type WebhookAdmin } from "../../src/webhooks/administration.ts";
import { bodyOf } from "../../src/webhooks/message.ts";
import { enqueueMessages } from "../../src/webhooks/queue.ts";
import { Closers } from "../closers.ts";
import { machineLine, machineOf } from "../machine.ts";
import { startService } from "../started-service.ts";
import { percentile } from "../statistics.ts";
import { ODD_KINDS, type OddKind, startOddReceiver } from "./odd-receiver.ts";

const USAGE = `npm run campaign -- webhooks [--kind NAME …] [--seconds S] [--rate R]

How long messages take to 49 receivers that are well: beside a fiftieth that is well, too, and beside one that is not.

${Object.entries(ODD_KINDS)
  .map(([name, meaning]) => `  --kind ${`"${name}"`.padEnd(13)} ${meaning}`)
  .join("\n")}
  --seconds S         each measurement; by default 8
  --rate R            messages a second to each receiver; by default 2`;

const values = readOptions(USAGE, {
  kind: { type: "string", multiple: true },
  seconds: { type: "string", default: "8" },
  rate: { type: "string", default: "2" },
});

const ENDPOINTS = 50;
const NETWORKS = "127.0.0.0/8";
/** Time for the last messages to arrive. */
const SETTLE_MS = 5_000;
const ALL_KINDS = Object.keys(ODD_KINDS) as OddKind[];

/** Queue time in milliseconds of each message in flight, by webhook-id. */
const queuedAt = new Map<string, number>();
let delays: number[] = [];

async function startWell(): Promise<{ readonly url: string; stop(): void }> {
  const server = createServer((request, response) => {
    const at = queuedAt.get(String(request.headers["webhook-id"]));
    if (at !== undefined) delays.push(performance.now() - at);
    queuedAt.delete(String(request.headers["webhook-id"]));
    request.resume().on("end", () => response.writeHead(204).end());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, stop: () => server.close() };
}

/** Creates a client with an endpoint. */
async function newEndpoint(admin: WebhookAdmin, url: string): Promise<string> {
  const clientId = randomUUID();
  await admin.pool.query(
    "insert into bellhop.client (client_id, name, scopes, changed_epoch) values ($1, 'Partner', '{read}', 0)",
    [clientId],
  );
  return (await addWebhook(admin, clientId, { url, events: ["request.applied"] })).endpoint.endpointId;
}

async function enqueue(admin: WebhookAdmin, endpointIds: readonly string[], odd: string): Promise<void> {
  const messages = endpointIds.map((endpointId) => {
    const messageId = randomUUID();
    const body = bodyOf("request.applied", new Date().toISOString(), { requestId: messageId });
    if (endpointId !== odd) queuedAt.set(`msg_${messageId.replaceAll("-", "")}`, performance.now());
    return { messageId, endpointId, event: "request.applied" as const, cause: messageId, url: null, body };
  });
  await enqueueMessages(admin.pool, messages);
}

interface Measured {
  readonly sent: number;
  readonly lost: number;
  readonly figures: string;
}

/** Sends messages to all endpoints, spread over time, and measures those to the 49. */
async function measure(admin: WebhookAdmin, well: readonly string[], odd: string): Promise<Measured> {
  const [seconds, rate] = [Number(values.seconds), Number(values.rate)];
  delays = [];
  queuedAt.clear();
  const startedAt = performance.now();
  const all = [...well, odd];
  let sent = 0;
  for (let round = 0; round < seconds * rate; round += 1) {
    // In ten portions, so that they do not arrive at once.
    for (let tenth = 0; tenth < 10; tenth += 1) {
      const due = startedAt + (round + tenth / 10) * (1_000 / rate);
      await delay(Math.max(0, due - performance.now()));
      const some = all.filter((_, place) => place % 10 === tenth);
      sent += some.filter((endpointId) => endpointId !== odd).length;
      await enqueue(admin, some, odd);
    }
  }
  for (let waited = 0; waited < SETTLE_MS && queuedAt.size > 0; waited += 50) await delay(50);
  const figures = [0.5, 0.95, 0.99, 1].map((share) =>
    Math.round(percentile(delays, share)).toString().padStart(5),
  );
  return { sent, lost: queuedAt.size, figures: figures.join(" ") };
}

function print(name: string, { sent, lost, figures }: Measured): void {
  console.log(`${name.padEnd(12)} ${String(sent).padStart(6)} ${String(lost).padStart(5)}  ${figures}`);
}

const closers = new Closers();
try {
  const { client } = closers.kept(
    await startService("webhooks", { settings: { WEBHOOK_ALLOWED_NETWORKS: NETWORKS } }),
  );
  const { host, port, user, password, database } = client;
  const pool = new pg.Pool({ host, port, user, password, database } as pg.PoolConfig);
  closers.add(() => pool.end());
  const receiver = await startWell();
  closers.add(() => receiver.stop());
  const rules = new AddressRules([NETWORKS]);
  const admin: WebhookAdmin = {
    pool,
    rules,
    clientId: null,
    who: "cli:bench",
    cipher: createSecretCipher(undefined),
  };
  const well: string[] = [];
  while (well.length < ENDPOINTS - 1) well.push(await newEndpoint(admin, receiver.url));
  console.log(machineLine(machineOf()));
  console.log(
    `${ENDPOINTS - 1} receivers, ${values.rate} messages a second to each; milliseconds from queue to arrival\n`,
  );
  console.log("the fiftieth   sent  lost    p50   p95   p99   max");
  const kinds =
    values.kind === undefined ? ALL_KINDS : ALL_KINDS.filter((kind) => values.kind?.includes(kind));
  for (const kind of kinds) {
    const fiftieth = await newEndpoint(admin, receiver.url);
    print("well", await measure(admin, well, fiftieth));
    await removeWebhook(admin, fiftieth);
    const odd = await startOddReceiver(kind);
    const endpointId = await newEndpoint(admin, odd.url);
    print(kind, await measure(admin, well, endpointId));
    await removeWebhook(admin, endpointId);
    await odd.stop();
  }
} finally {
  await closers.close();
}
