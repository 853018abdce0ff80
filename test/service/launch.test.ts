import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { cp, mkdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryDirectory } from "../support/test-server.ts";
import { until } from "../support/until.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const nodePackage = `node-${process.platform}-${process.arch}`;
let checkout: string;
const started: ChildProcess[] = [];

function contentOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "gone";
  }
}

/** Says where and as what it runs, then lives until it is asked to stop or its launcher is gone. */
const ENTRY = `
  import fs from "node:fs";
  process.once("SIGTERM", () => process.exit(7));
  process.once("disconnect", () => process.exit(8));
  console.log(JSON.stringify({ pid: process.pid, version: process.version, cwd: process.cwd(), dataDir: process.env.DATA_DIR, args: process.argv.slice(2) }));
  if (process.argv[2] === "exit") process.exit(Number(process.argv[3]));
  if (process.argv[2] === "serve") {
    process.send("listening");
    if (!fs.existsSync(process.argv[3])) {
      fs.writeFileSync(process.argv[3], "");
      process.argv[4] === "crash" ? process.exit(1) : process.kill(process.pid, "SIGKILL");
    }
  }
  if (process.argv[2] === "die") process.kill(process.pid, "SIGKILL");
  setInterval(() => undefined, 1000);
`;

const QUIET = "--no-audit --no-fund --loglevel=error --no-update-notifier";

/** Stands for npm: records that it was called, and leaves what npm leaves. */
const NPM = `#!/bin/sh
echo "$@" >> npm-calls
echo "npm's own words"
mkdir -p node_modules
cp package-lock.json node_modules/.package-lock.json
`;

before(async () => {
  checkout = await realpath(await temporaryDirectory("launch"));
  await cp(join(root, "bin"), join(checkout, "bin"), { recursive: true });
  await writeFile(join(checkout, "entry.ts"), ENTRY);
  await writeFile(join(checkout, "package.json"), '{ "name": "launched", "type": "module" }');
  await mkdir(join(checkout, "path"));
  await writeFile(join(checkout, "path", "npm"), NPM, { mode: 0o755 });
  await installed();
});
after(() => rm(checkout, { recursive: true }));
afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
});

/** node_modules as npm leaves it, for a lock file without any package. */
async function installed(lockVersion = 1): Promise<void> {
  const lock = JSON.stringify({ lockfileVersion: 3, lockVersion, packages: {} });
  await writeFile(join(checkout, "package-lock.json"), lock);
  await mkdir(join(checkout, "node_modules"), { recursive: true });
  await writeFile(join(checkout, "node_modules", ".package-lock.json"), lock);
  const link = join(checkout, "node_modules", nodePackage);
  await rm(link, { force: true });
  await symlink(join(root, "node_modules", nodePackage), link);
}

interface LaunchOptions {
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  /** What stands between: a shell as npm would be. */
  readonly under?: "shell";
}

function launch(options: LaunchOptions = {}): ChildProcess {
  const command = [join(checkout, "bin", "launch.mjs"), "entry.ts", ...(options.args ?? [])];
  // As little as a fresh machine has; npm's variables of the run that we are in do not reach it.
  const env = { PATH: `${checkout}/path:/usr/bin:/bin`, ...options.env };
  const spawnOptions = {
    cwd: options.cwd ?? "/",
    env,
    stdio: ["ignore", "pipe", "pipe"] as ["ignore", "pipe", "pipe"],
  };
  const child =
    options.under === "shell"
      ? spawn("/bin/sh", ["-c", '"$@" & wait', "sh", process.execPath, ...command], spawnOptions)
      : spawn(process.execPath, command, spawnOptions);
  started.push(child);
  return child;
}

async function textOf(stream: NodeJS.ReadableStream | null, child: ChildProcess): Promise<string> {
  let text = "";
  stream?.on("data", (part) => {
    text += part;
  });
  await once(child, "close");
  return text;
}

interface Words {
  pid: number;
  version: string;
  cwd: string;
  dataDir: string;
  args: string[];
}

async function firstWords(child: ChildProcess): Promise<Words> {
  const [line] = (await once(child.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
  return JSON.parse(line.toString()) as Words;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function npmCalls(): Promise<string[]> {
  const calls = await readFile(join(checkout, "npm-calls"), "utf8").catch(() => "");
  await rm(join(checkout, "npm-calls"), { force: true });
  return calls.split("\n").filter((line) => line !== "");
}

test("an up-to-date checkout starts under the pinned Node without npm, and the exit code is the entry's", async () => {
  const child = launch({ args: ["exit", "5"] });
  const words = await firstWords(child);
  await once(child, "close");
  assert.equal(child.exitCode, 5);
  assert.equal(words.version, process.version);
  assert.deepEqual(words.args, ["exit", "5"]);
  assert.deepEqual(await npmCalls(), []);
});

test("a lock file that changed installs once, also for two launches at once, and standard output stays the entry's", async () => {
  const lockPath = join(checkout, "package-lock.json");
  const packages = { "node_modules/added": { version: "1.0.0" } };
  await writeFile(lockPath, JSON.stringify({ lockfileVersion: 3, packages }));
  await mkdir(join(checkout, "node_modules", "added"), { recursive: true });
  await writeFile(join(checkout, "node_modules", "added", "package.json"), "{}");
  await rm(join(checkout, "node_modules", ".package-lock.json"));
  const children = [launch({ args: ["exit", "0"] }), launch({ args: ["exit", "0"] })];
  const outputs = await Promise.all(children.map((child) => textOf(child.stdout, child)));
  for (const output of outputs) assert.deepEqual(JSON.parse(output).args, ["exit", "0"]);
  assert.deepEqual(await npmCalls(), [`ci --omit=dev ${QUIET}`]);
  await rm(join(checkout, "node_modules", "added"), { recursive: true });
  await installed(2);
});

test("development packages that are lacking are added without emptying node_modules", async () => {
  const packages = { "node_modules/tool": { version: "1.0.0", dev: true } };
  await writeFile(join(checkout, "package-lock.json"), JSON.stringify({ lockfileVersion: 3, packages }));
  const child = spawn(
    process.execPath,
    [join(checkout, "bin", "launch.mjs"), "--dev", "entry.ts", "exit", "0"],
    {
      env: { PATH: `${checkout}/path:/usr/bin:/bin` },
      stdio: "ignore",
    },
  );
  await once(child, "close");
  assert.deepEqual(await npmCalls(), [`install --no-save --include=dev ${QUIET}`]);
  await installed(3);
});

test("a failing npm ends the launch with one line", async () => {
  await writeFile(
    join(checkout, "package-lock.json"),
    '{ "lockfileVersion": 3, "packages": { "node_modules/gone": { "version": "1.0.0" } } }',
  );
  await writeFile(join(checkout, "path", "npm"), "#!/bin/sh\nexit 3\n", { mode: 0o755 });
  const child = launch({ args: ["exit", "0"] });
  const complaint = await textOf(child.stderr, child);
  assert.equal(child.exitCode, 1);
  assert.match(complaint, /^bellhop: npm install failed with exit code 3/m);
  await writeFile(join(checkout, "path", "npm"), NPM, { mode: 0o755 });
  await installed(4);
});

test("the lock of an installation whose process is dead does not block the next", async () => {
  await installed(5);
  const dead = spawn("true");
  await once(dead, "exit");
  await writeFile(join(checkout, ".bellhop-install"), `${dead.pid}\n`);
  const child = launch({ args: ["exit", "0"] });
  await once(child, "close");
  assert.equal(child.exitCode, 0);
});

test("the lock of an installation whose PID was reused does not block the next", async () => {
  await installed(6);
  await writeFile(join(checkout, ".bellhop-install"), `${process.pid}:1\n`);
  const child = launch({ args: ["exit", "0"] });
  await once(child, "close", { signal: AbortSignal.timeout(10_000) });
  assert.equal(child.exitCode, 0);
});

test("the lock of an installation names its holder at every moment, also while another is added", async () => {
  const lock = join(checkout, "lock");
  const holding = `
    import { takeLock } from ${JSON.stringify(join(checkout, "bin", "install.mjs"))};
    const lock = await takeLock(${JSON.stringify(lock)});
    for (let times = 0; times < 3_000; times += 1) lock.alsoHeldBy(process.ppid);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", holding], { stdio: "inherit" });
  started.push(child);
  const seen = new Set<string>();
  while (child.exitCode === null) {
    for (let times = 0; times < 100; times += 1) seen.add(contentOf(lock));
    await new Promise((resume) => setImmediate(resume));
  }
  assert.equal(child.exitCode, 0);
  seen.delete("gone");
  assert.ok(seen.size > 0);
  for (const holders of seen) assert.match(holders, new RegExp(`^${child.pid}:`));
});

test("SIGTERM is passed on, and a signal that ends the entry is how the launch ends", async () => {
  const child = launch();
  await firstWords(child);
  child.kill("SIGTERM");
  await once(child, "close");
  assert.equal(child.exitCode, 7);
  const dying = launch({ args: ["die"] });
  await once(dying, "close");
  assert.equal(dying.signalCode, "SIGKILL");
});

test("a service that fails is restarted, and stops for good on request", async () => {
  for (const how of ["crash", "kill"]) {
    const child = launch({ args: ["serve", join(checkout, how), how] });
    const first = await firstWords(child);
    const second = await firstWords(child);
    assert.notEqual(second.pid, first.pid);
    child.kill("SIGTERM");
    await once(child, "close");
    assert.equal(child.exitCode, 7);
  }
});

test("the entry does not outlive a launcher that was killed outright", async () => {
  const child = launch();
  const { pid } = await firstWords(child);
  child.kill("SIGKILL");
  await until(() => !isAlive(pid), 5_000);
});

test("the entry does not outlive an npm that was killed outright", async () => {
  const npm = launch({ under: "shell", env: { npm_lifecycle_event: "start" } });
  const { pid } = await firstWords(npm);
  npm.kill("SIGKILL");
  await until(() => !isAlive(pid), 5_000);
});

test("DATA_DIR defaults to data in the checkout; a relative one is resolved from the caller's directory", async () => {
  const caller = dirname(checkout);
  const underNpm = { npm_package_json: join(checkout, "package.json"), INIT_CWD: caller };
  const words = async (options: LaunchOptions) =>
    await firstWords(launch({ args: ["exit", "0"], ...options }));
  assert.equal((await words({ cwd: caller })).dataDir, join(checkout, "data"));
  assert.equal((await words({ cwd: caller, env: { DATA_DIR: "x/y" } })).dataDir, join(caller, "x/y"));
  const called = await words({ cwd: checkout, env: { ...underNpm, DATA_DIR: "x/y" } });
  assert.deepEqual([called.cwd, called.dataDir], [caller, join(caller, "x/y")]);
  // An npm run of another project further out has no say.
  const foreign = { npm_package_json: "/elsewhere/package.json", INIT_CWD: caller };
  assert.equal((await words({ cwd: checkout, env: foreign })).cwd, checkout);
});
