import { randomBytes } from "node:crypto";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { NotHere } from "../faults/campaign-command.ts";
import { MemoryLimit } from "../faults/memory-limit.ts";
import { createEmptyDatabase } from "../support/database.ts";
import { inventoryRecord } from "../support/records.ts";
import { until } from "../support/until.ts";
import { Container, type ContainerOptions, runCommandIn, runProgramIn } from "./container.ts";
import { buildImage, type Image } from "./image.ts";
import { sizeOf } from "./root.ts";
import { type Note, notes, type Tried } from "./tried.ts";

const CHECKOUT = fileURLToPath(new URL("../../", import.meta.url));
const MIB = 1_048_576;
/** Of compose.yaml, whose nodes serve with two threads and apply with one. */
const MEMORY_BYTES = 768 * MIB;
const READY_MS_MAX = 120_000;
const STOP_MS_MAX = 15_000;
const PORT = 18_080;

interface Trial {
  readonly image: Image;
  readonly options: ContainerOptions;
  readonly limit: MemoryLimit;
  readonly note: Note;
}

/**
 * Builds and runs the image by the Dockerfile's instructions under the constraints of compose.yaml: as an unprivileged
 * user, read-only, with a memory limit. Uses mount and process namespaces of this machine's system instead of a
 * container engine; network and seccomp are not isolated. Throws NotHere unless it runs as root on Linux.
 */
export async function tryDeployment(
  seconds: number,
  progress: (line: string) => void,
): Promise<readonly Tried[]> {
  if (process.platform !== "linux" || process.getuid?.() !== 0)
    throw new NotHere("it takes Linux, and root to mount.");
  const limit = await MemoryLimit.create();
  const directory = await mkdtemp(join(tmpdir(), "bellhop-image-"));
  await chmod(directory, 0o755);
  const database = await createEmptyDatabase();
  const road = await openRoad(database.url);
  const { tried, note } = notes(progress);
  try {
    progress("the Dockerfile's instructions:");
    const image = await buildImage(CHECKOUT, directory, progress);
    note("size of the tree", true, `${Math.round((await sizeOf(join(image.root, "app"))) / MIB)} MiB`);
    const options = { environment: await settingsIn(image, road.url), launcher: limit.launcher };
    await limit.limitTo(MEMORY_BYTES);
    await tryContainer({ image, options, limit, note }, seconds);
  } finally {
    road.close();
    await limit.remove().catch(() => undefined);
    await database.drop();
    await rm(directory, { recursive: true, force: true });
  }
  return tried;
}

/** The embedded PostgreSQL listens on a socket that other users cannot reach: a port that leads to it. */
async function openRoad(databaseUrl: string): Promise<{ url: string; close(): void }> {
  const { username, password, hostname, port, pathname } = new URL(databaseUrl);
  const host = decodeURIComponent(hostname);
  const target = host.startsWith("/")
    ? { path: join(host, `.s.PGSQL.${port}`) }
    : { host, port: Number(port) };
  const server = createServer((client) => {
    const upstream = connect(target);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      one.on("error", () => other.destroy()).pipe(other);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const at = (server.address() as AddressInfo).port;
  return {
    url: `postgresql://${username}:${password}@127.0.0.1:${at}${pathname}`,
    close: () => server.close(),
  };
}

/** Secrets as files and the rest as compose.yaml has it; answers the container's environment. */
async function settingsIn({ root }: Image, databaseUrl: string): Promise<Record<string, string>> {
  const secrets = {
    DATABASE_URL: databaseUrl,
    KEY_ENCRYPTION_KEY: randomBytes(32).toString("base64"),
    METRICS_TOKEN: randomBytes(24).toString("hex"),
  };
  await mkdir(join(root, "run/secrets"), { recursive: true });
  const environment: Record<string, string> = {
    BASE_URL: "https://hotels.example",
    PORT: String(PORT),
    HTTP_THREADS: "2",
    APPLY_WRITERS: "1",
    TRUSTED_PROXIES: "127.0.0.0/8",
  };
  for (const [name, value] of Object.entries(secrets)) {
    const file = `/run/secrets/${name.toLowerCase().replaceAll("_", "-")}`;
    await writeFile(join(root, file), `${value}\n`, { mode: 0o444 });
    environment[`${name}_FILE`] = file;
  }
  return environment;
}

async function tryContainer(trial: Trial, seconds: number): Promise<void> {
  const { image, options, limit, note } = trial;
  const startedAt = performance.now();
  const container = await Container.start(image, options);
  try {
    await container.untilReady(READY_MS_MAX);
    note(
      "from start to ready, migrations and a check each time",
      true,
      `${Math.round(performance.now() - startedAt)} ms`,
    );
    note("health check", await container.isHealthy(), "asks /healthz in the container");
    await tryLocks(trial, container);
    await tryCommands(trial);
    await tryLoad(trial, seconds);
    const { code, ms } = await container.stop();
    note(
      "SIGTERM to the first process",
      code === 0 && ms < STOP_MS_MAX,
      `exit code ${code} after ${Math.round(ms)} ms`,
    );
    const peak = Math.round((await limit.peakBytes()) / MIB);
    const kills = await limit.kills();
    note(
      "memory",
      kills === 0,
      `at most ${peak} MiB of ${MEMORY_BYTES / MIB}, commands and page cache counted, ${kills} kills`,
    );
    await tryRoles(trial);
  } finally {
    container.kill();
    await container.ended;
  }
}

async function tryLocks({ image, options, note }: Trial, container: Container): Promise<void> {
  const [uid, effective, bounding, noNew] = await Promise.all(
    ["Uid", "CapEff", "CapBnd", "NoNewPrivs"].map((name) => container.statusOf(name)),
  );
  const isOrdinary =
    /^10001\b/.test(uid ?? "") && /^0+$/.test(effective ?? "") && /^0+$/.test(bounding ?? "");
  note(
    "an ordinary user",
    isOrdinary && noNew === "1",
    `uid ${uid?.split(/\s/)[0]}, capabilities ${effective}, no new privileges ${noNew}`,
  );
  const write =
    "for place in /app/src/main.ts /app/new /tmp/new /new; do echo x >> $place && echo wrote $place; done; exit 0";
  const { out } = await runProgramIn(image, ["/bin/sh", "-c", write], options);
  note("a tree that nothing can write", out === "", out === "" ? "every try refused" : out.trim());
}

async function tryCommands({ image, options, note }: Trial): Promise<void> {
  const doctor = await runCommandIn(image, ["doctor", "--json"], options);
  const { findings = [] } = doctor.out.startsWith("{")
    ? (JSON.parse(doctor.out) as { findings?: { id: string; severity: string }[] })
    : {};
  const troubles = findings
    .filter(({ severity }) => severity !== "ok")
    .map(({ id, severity }) => `${severity} ${id}`);
  const isWell = findings.length > 0 && !troubles.some((trouble) => trouble.startsWith("error"));
  note(
    "bellhop doctor",
    isWell,
    `${findings.length} findings, not ok: ${troubles.join(", ") || "none"}${doctor.err}`,
  );
}

/** As a partner of the container's: takes a token, sends batches for some seconds, and asks what became of the last. */
async function tryLoad({ image, options, note }: Trial, seconds: number): Promise<void> {
  const made = await runCommandIn(
    image,
    [
      "client",
      "create",
      "--name",
      "trial",
      "--grant",
      "ACME/*",
      "--rate",
      "100000",
      "--burst",
      "100000",
      "--json",
    ],
    options,
  );
  const { client_id: clientId, client_secret: clientSecret } = JSON.parse(made.out) as Record<string, string>;
  const base = `http://127.0.0.1:${PORT}`;
  const form = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: clientId ?? "",
    client_secret: clientSecret ?? "",
  });
  const answer = await fetch(`${base}/api/oauth2/token`, { method: "POST", body: form });
  const { access_token: token } = (await answer.json()) as { access_token: string };
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "text/plain",
  };
  const statuses = new Map<number, number>();
  let last = "";
  const endsAt = performance.now() + seconds * 1000;
  for (let batch = 0; performance.now() < endsAt; batch += 1) {
    const records = Array.from({ length: 100 }, (_, at) =>
      inventoryRecord({
        propertyCode: `P${batch % 50}`,
        occupancyDate: new Date(Date.UTC(2027, 0, 1 + at)).toISOString().slice(0, 10),
      }),
    );
    const response = await fetch(`${base}/api/public/v1/inventories`, {
      method: "POST",
      headers,
      body: JSON.stringify(records),
    });
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    last = (await response.text()).trim();
  }
  const counts = [...statuses].map(([status, count]) => `${count} of ${status}`).join(", ");
  note("batches of 100 records, one after another", statuses.size === 1 && statuses.has(202), counts);
  let state = "";
  await until(async () => {
    const status = await fetch(`${base}/api/public/v1/requests/${last}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    state = ((await status.json()) as { status?: string }).status ?? "";
    return state === "applied";
  }, 60_000).catch(() => undefined);
  note("the last batch", state === "applied", state);
}

/** The two roles of the Kubernetes manifests, each alone. */
async function tryRoles({ image, options, note }: Trial): Promise<void> {
  for (const role of ["accept,read", "apply"]) {
    const container = await Container.start(image, options, ["serve", "--role", role]);
    try {
      await container.untilReady(READY_MS_MAX);
      const { code } = await container.stop();
      note(`--role ${role} alone`, code === 0, `was ready, and stopped with ${code}`);
    } finally {
      container.kill();
      await container.ended;
    }
  }
}
