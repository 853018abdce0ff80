import { mkdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readOptions } from "../../../scripts/read-options.ts";
import { until } from "../../support/until.ts";
import { lastOf, readDockerfile } from "../dockerfile.ts";
import { type Note, notes } from "../tried.ts";
import { type Engine, openEngine } from "./engine.ts";
import { Partner } from "./partner.ts";
import { Project } from "./project.ts";
import { buildOptions, makeStandIns, type StandIns } from "./stand-ins.ts";

const USAGE = `npm run campaign -- containers [--folder FOLDER]

Builds the image and runs compose.yaml with a container engine: limits, checks, drains, a rolling restart under load, a new start from
the same volumes. Images of others are stand-ins of Debian's and npm's packages. Needs Linux, root and
apt-get install docker.io docker-compose debootstrap.

  --folder FOLDER   keeps the engine's data and the stand-ins between runs`;

const CHECKOUT = fileURLToPath(new URL("../../../", import.meta.url));
const MIB = 1_048_576;
const NODES = ["node-1", "node-2", "node-3"];
const READY_MS_MAX = 120_000;
const APPLIED_MS_MAX = 120_000;
const STOP_MS_MAX = 15_000;
const GAP_MS_MAX = 5_000;
/** Below the limits of a source address at the proxy. */
const ASKERS = 4;

interface Trial {
  readonly engine: Engine;
  readonly project: Project;
  readonly partner: Partner;
  readonly note: Note;
}

/** Runs what is shipped with a real engine. Answers whether all was right. */
export async function containersCampaign(args: string[]): Promise<boolean> {
  const { folder = join(tmpdir(), "bellhop-containers") } = readOptions(
    USAGE,
    { folder: { type: "string" } },
    args,
  );
  await mkdir(folder, { recursive: true });
  const { tried, note } = notes((line) => console.log(line));
  const engine = await openEngine(folder);
  try {
    const images = await makeStandIns(engine, join(folder, "stand-ins"), (line) =>
      console.log(`making ${line}`),
    );
    const project = await Project.create(engine, CHECKOUT, join(folder, "checkout"), images);
    const partner = new Partner(project.certificate);
    try {
      await tryImage(engine, project, images, note);
      await project.compose("down", "--volumes", "--timeout", "20");
      await tryProject({ engine, project, partner, note });
    } finally {
      partner.close();
      await project.compose("down", "--volumes", "--timeout", "20").catch(() => undefined);
    }
  } finally {
    await engine.stop();
  }
  const failed = tried.filter(({ isRight }) => !isRight);
  console.log(`${tried.length - failed.length} of ${tried.length} right`);
  return failed.length === 0;
}

async function tryImage(engine: Engine, project: Project, images: StandIns, note: Note): Promise<void> {
  const startedAt = performance.now();
  await engine.docker(
    "build",
    ...buildOptions(),
    "--build-arg",
    `NODE_IMAGE=${images.NODE_IMAGE}`,
    "--tag",
    "bellhop:local",
    project.folder,
  );
  note("the image's build", true, secondsSince(startedAt));
  const sizes = await Promise.all(
    ["bellhop:local", images.NODE_IMAGE].map(async (image) =>
      Number(await engine.docker("image", "inspect", "--format", "{{.Size}}", image)),
    ),
  );
  const [whole = 0, base = 0] = sizes;
  note(
    "the image's size",
    true,
    `${Math.round(whole / MIB)} MiB, ${Math.round((whole - base) / MIB)} of them not the base image's`,
  );
  const find =
    "find / -xdev \\( -name '*.test.ts' -o -name .env -o -name secrets -path '*deploy*' -o -name .git \\) -not -path '*/node_modules/*' | head; ls /app/node_modules | grep -x -e typescript -e @biomejs; true";
  const unwanted = await engine.docker(
    "run",
    "--rm",
    "--entrypoint",
    "/bin/sh",
    "--user",
    "0",
    "bellhop:local",
    "-c",
    find,
  );
  note(
    "no tests, secrets or development packages in it",
    unwanted.trim() === "",
    unwanted.trim() || "none found",
  );
  const writable = await engine.docker(
    "run",
    "--rm",
    "--entrypoint",
    "/bin/sh",
    "bellhop:local",
    "-c",
    "find /app -xdev -writable ! -type l | grep -v node_modules/.cache | head; true",
  );
  note(
    "nothing that its user could change but the compile cache",
    writable.trim() === "",
    writable.trim() || "none found",
  );
}

async function tryProject(trial: Trial): Promise<void> {
  const { project, note } = trial;
  const startedAt = performance.now();
  await project.compose("up", "--detach", "--no-build");
  await Promise.all(NODES.map((node) => until(() => project.isReady(node), READY_MS_MAX)));
  note("from nothing to three ready nodes", true, secondsSince(startedAt));
  await project.untilHealthy(["postgres", ...NODES, "proxy", "prometheus", "grafana"]);
  note("every service healthy", true, secondsSince(startedAt));
  await tryLocks(trial);
  await tryCommands(trial);
  await tryFirstBatch(trial);
  await tryObservability(trial);
  await tryDatabaseAway(trial);
  await tryRollingRestart(trial);
  await tryDrain(trial);
  await tryNewStart(trial);
  await tryLimits(trial);
}

async function tryLocks({ project, note }: Trial): Promise<void> {
  const wanted = lastOf(readDockerfile(await readFile(join(CHECKOUT, "Dockerfile"), "utf8")), "USER");
  for (const node of NODES) {
    const { Config, HostConfig } = await project.inspect(node);
    const isRight =
      Config.User === wanted &&
      HostConfig.ReadonlyRootfs &&
      HostConfig.CapDrop?.join() === "ALL" &&
      HostConfig.Memory === 768 * MIB &&
      HostConfig.PidsLimit === 100;
    note(
      `${node} as the engine has it`,
      isRight,
      `user ${Config.User}, read-only ${HostConfig.ReadonlyRootfs}, capabilities dropped ${HostConfig.CapDrop}, ${HostConfig.Memory / MIB} MiB, ${HostConfig.PidsLimit} threads, ${HostConfig.SecurityOpt}`,
    );
  }
  const status = await project.exec("node-1", "cat", "/proc/1/status");
  const value = (name: string) => new RegExp(`^${name}:\\s*(\\S+)`, "m").exec(status)?.[1] ?? "";
  const [uid, effective, bounding, noNew] = ["Uid", "CapEff", "CapBnd", "NoNewPrivs"].map(value);
  note(
    "its first process as the kernel has it",
    uid === "10001" && /^0+$/.test(`${effective}${bounding}`) && noNew === "1",
    `uid ${uid}, capabilities ${effective}, bounding ${bounding}, no new privileges ${noNew}`,
  );
  const write =
    "for place in /app/src/main.ts /app/new /tmp/new /new /run/secrets/metrics-token; do (echo x >> $place) 2>/dev/null && echo $place; done; true";
  const written = await project.exec("node-1", "/bin/sh", "-c", write);
  note("a file system that nothing can write", written.trim() === "", written.trim() || "every try refused");
}

async function tryCommands({ project, note }: Trial): Promise<void> {
  const { findings } = (await project
    .command("doctor")
    .catch((error: { stdout: string }) => JSON.parse(error.stdout))) as {
    findings: { id: string; severity: string }[];
  };
  const bad = findings
    .filter(({ severity }) => severity !== "ok")
    .map(({ id, severity }) => `${severity} ${id}`);
  note(
    "bellhop doctor",
    !bad.some((one) => one.startsWith("error")),
    `${findings.length} findings, not ok: ${bad.join(", ") || "none"}`,
  );
}

async function tryFirstBatch({ project, partner, note }: Trial): Promise<void> {
  const made = await project.command(
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
  );
  await until(
    () =>
      partner.ask("GET", "/.well-known/jwks.json").then(
        ({ status }) => status === 200,
        () => false,
      ),
    READY_MS_MAX,
  );
  await partner.authenticate(String(made["client_id"]), String(made["client_secret"]));
  const startedAt = performance.now();
  const { status, body } = await partner.push();
  if (status !== 202) throw new Error(`the first batch was answered ${status}: ${body}`);
  await until(async () => (await partner.stateOf(body.trim())) === "applied", APPLIED_MS_MAX);
  note(
    "a batch through the proxy, applied",
    status === 202,
    `${status}, ${Math.round(performance.now() - startedAt)} ms`,
  );
  const listed = await partner.ask("GET", "/api/public/v1/inventories?propertyCode=P0&clientCode=ACME");
  note("its records read back", listed.status === 200 && listed.body.includes('"P0"'), `${listed.status}`);
  const closed = await Promise.all(
    ["/metrics", "/console", "/console/"].map(async (path) => (await partner.ask("GET", path)).status),
  );
  note(
    "metrics and console closed to this address",
    closed.every((code) => code === 404),
    closed.join(", "),
  );
}

async function tryObservability({ project, note }: Trial): Promise<void> {
  const checked = await project.exec(
    "prometheus",
    "promtool",
    "check",
    "config",
    "/etc/prometheus/prometheus.yml",
  );
  note(
    "Prometheus accepts configuration and rules",
    /SUCCESS: \d+ rules found/.test(checked),
    /SUCCESS: \d+ rules found/.exec(checked)?.[0] ?? checked,
  );
  const count = async () => {
    const response = await fetch(
      `http://127.0.0.1:9090/api/v1/query?query=${encodeURIComponent('sum(up{job="bellhop"})')}`,
    );
    const { data } = (await response.json()) as { data: { result: { value: [number, string] }[] } };
    return data.result[0]?.value[1];
  };
  await until(async () => (await count()) === "3", READY_MS_MAX);
  note("Prometheus scrapes every node", true, "3 up");
}

/** A node that waits for its database is alive, and not ready. */
async function tryDatabaseAway({ engine, project, note }: Trial): Promise<void> {
  const { Id } = await project.inspect("postgres");
  await engine.docker("pause", Id);
  const startedAt = performance.now();
  try {
    await until(async () => !(await project.isReady("node-1")), READY_MS_MAX);
    const alive = await project.exec("node-1", "node", "bin/ask-health.mjs").then(
      () => true,
      () => false,
    );
    note("without its database a node is alive and not ready", alive, `after ${secondsSince(startedAt)}`);
  } finally {
    await engine.docker("unpause", Id);
  }
  const backAt = performance.now();
  await Promise.all(NODES.map((node) => until(() => project.isReady(node), READY_MS_MAX)));
  note("the nodes are ready again", true, `${secondsSince(backAt)} after the database`);
}

async function tryRollingRestart({ project, partner, note }: Trial): Promise<void> {
  const enough = new AbortController();
  const loading = partner.load(enough.signal);
  const times: string[] = [];
  for (const node of NODES) {
    const startedAt = performance.now();
    await project.compose(
      "up",
      "--detach",
      "--no-deps",
      "--no-build",
      "--force-recreate",
      "--timeout",
      "15",
      node,
    );
    await project.untilHealthy([node]);
    times.push(`${node} ${secondsSince(startedAt)}`);
  }
  enough.abort();
  const { ids, others, gapMs, p99Ms } = await loading;
  const refused = [...others].map(([what, count]) => `${count} times ${what}`).join(", ");
  note(
    "rolling restart: every answer 202",
    others.size === 0,
    `${ids.length} of 202${refused && `, ${refused}`}; ${times.join(", ")}`,
  );
  note(
    "rolling restart: the longest time without an answer",
    gapMs < GAP_MS_MAX,
    `${Math.round(gapMs)} ms; p99 of a batch ${Math.round(p99Ms)} ms`,
  );
  const { applied, distinct } = await countApplied(partner, ids);
  note(
    "rolling restart: nothing lost, nothing twice",
    applied === ids.length && distinct === ids.length,
    `${applied} of ${ids.length} batches applied, ${distinct} distinct`,
  );
}

async function countApplied(
  partner: Partner,
  ids: readonly string[],
): Promise<{ applied: number; distinct: number }> {
  const left = [...ids];
  let applied = 0;
  const ask = async () => {
    for (let id = left.pop(); id !== undefined; id = left.pop()) {
      const one = id;
      await until(async () => (await partner.stateOf(one)) === "applied", APPLIED_MS_MAX);
      applied += 1;
    }
  };
  await Promise.all(Array.from({ length: ASKERS }, () => ask().catch(() => undefined)));
  return { applied, distinct: new Set(ids).size };
}

async function tryDrain({ engine, project, note }: Trial): Promise<void> {
  const { Id } = await project.inspect("node-2");
  const startedAt = performance.now();
  await engine.docker("stop", "--time", "30", Id);
  const ms = performance.now() - startedAt;
  const [{ State }] = JSON.parse(await engine.docker("inspect", Id));
  note(
    "SIGTERM",
    State.ExitCode === 0 && ms < STOP_MS_MAX,
    `exit code ${State.ExitCode} after ${Math.round(ms)} ms`,
  );
  await engine.docker("start", Id);
  const states = await Promise.all(
    ["node-1", "node-3"].map(async (node) => (await project.inspect(node)).State.OOMKilled),
  );
  const used = (await engine.docker("stats", "--no-stream", "--format", "{{.Name}} {{.MemUsage}}"))
    .trim()
    .split("\n")
    .filter((line) => line.includes("node"));
  note("memory", !states.includes(true), `${used.join("; ")}; none killed for memory`);
}

async function tryNewStart({ project, partner, note }: Trial): Promise<void> {
  const { body } = await partner.push();
  await project.compose("down", "--timeout", "20");
  const startedAt = performance.now();
  await project.compose("up", "--detach", "--no-build");
  await until(
    () =>
      partner.stateOf(body.trim()).then(
        (state) => state === "applied",
        () => false,
      ),
    READY_MS_MAX,
  );
  note(
    "the same volumes after compose down and up",
    true,
    `the last batch is applied ${secondsSince(startedAt)} after`,
  );
}

/** Last, as it uses up what this address may send. */
async function tryLimits({ partner, note }: Trial): Promise<void> {
  const counts = new Map<number, number>();
  const flood = async () => {
    for (let sent = 0; sent < 200; sent += 1) {
      const { status } = await partner.ask("GET", "/metrics");
      counts.set(status, (counts.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 20 }, flood));
  note(
    "a source address that floods is refused",
    (counts.get(429) ?? 0) > 0,
    [...counts].map(([status, count]) => `${count} of ${status}`).join(", "),
  );
}

const secondsSince = (startedAt: number) => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
