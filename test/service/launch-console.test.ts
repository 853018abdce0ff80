import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryDirectory } from "../support/test-server.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const nodePackage = `node-${process.platform}-${process.arch}`;
const LOCK = JSON.stringify({ lockfileVersion: 3, packages: {} });
let checkout: string;
let console_: string;

/** Builds as the real one does, as far as anybody sees from outside, and notes that it did. */
const BUILD = `
  import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
  const out: string = process.argv[process.argv.indexOf("--out") + 1] ?? "";
  console.log("the build's own words");
  appendFileSync("../../builds", process.version + "\\n");
  mkdirSync(out);
  writeFileSync(out + "/index.html", "built");
`;

before(async () => {
  checkout = await realpath(await temporaryDirectory("console"));
  console_ = join(checkout, "packages", "console");
  await cp(join(root, "bin"), join(checkout, "bin"), { recursive: true });
  await mkdir(join(checkout, "src"));
  await writeFile(join(checkout, "src", "main.ts"), 'console.log("started " + process.argv[2]);');
  await writeFile(join(checkout, "package.json"), '{ "name": "launched", "type": "module" }');
  await writeFile(join(checkout, "package-lock.json"), LOCK);
  await mkdir(join(checkout, "node_modules"));
  await writeFile(join(checkout, "node_modules", ".package-lock.json"), LOCK);
  await symlink(join(root, "node_modules", nodePackage), join(checkout, "node_modules", nodePackage));
  await mkdir(join(console_, "src"), { recursive: true });
  await mkdir(join(checkout, "packages", "contract", "src"), { recursive: true });
  await writeFile(join(console_, "package.json"), '{ "name": "app", "type": "module" }');
  await writeFile(join(console_, "package-lock.json"), LOCK);
  await writeFile(join(console_, "build.ts"), BUILD);
  await writeFile(join(console_, "src", "app.ts"), "first");
  await mkdir(join(checkout, "path"));
  const npm = `#!/bin/sh\necho "$PWD $@" >> ${checkout}/npm-calls\nmkdir -p node_modules\ncp package-lock.json node_modules/.package-lock.json\n`;
  await writeFile(join(checkout, "path", "npm"), npm, { mode: 0o755 });
});
after(() => rm(checkout, { recursive: true }));

/** Launches a command of the service; answers what it printed, and what was reported beside. */
async function launch(command = "serve"): Promise<{ out: string; err: string }> {
  const child = spawn(process.execPath, [join(checkout, "bin", "launch.mjs"), "src/main.ts", command], {
    cwd: "/",
    env: { PATH: `${checkout}/path:/usr/bin:/bin` },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  child.stdout.on("data", (part) => {
    out += part;
  });
  child.stderr.on("data", (part) => {
    err += part;
  });
  await once(child, "close");
  return { out, err };
}

async function taken(file: string): Promise<string[]> {
  const lines = await readFile(join(checkout, file), "utf8").catch(() => "");
  await rm(join(checkout, file), { force: true });
  return lines.split("\n").filter((line) => line !== "");
}

test("a command builds no console; the first service installs its packages and builds it, under the pinned Node", async () => {
  assert.equal((await launch("client")).out, "started client\n");
  assert.deepEqual(await taken("builds"), []);
  const { out, err } = await launch();
  assert.equal(out, "started serve\n");
  assert.match(err, /building the console/);
  assert.deepEqual(await taken("builds"), [process.version]);
  assert.match((await taken("npm-calls")).join("\n"), new RegExp(`^${console_} ci --omit=dev [^\n]*$`));
  assert.equal(await readFile(join(console_, "dist", "index.html"), "utf8"), "built");
});

test("the next start builds and installs nothing, and one with other sources builds once, also for two at once", async () => {
  assert.deepEqual(await launch(), { out: "started serve\n", err: "" });
  await writeFile(join(console_, "src", "app.ts"), "second");
  await Promise.all([launch(), launch()]);
  assert.deepEqual(await taken("builds"), [process.version]);
  assert.deepEqual(await taken("npm-calls"), []);
  assert.deepEqual((await readdir(console_)).sort(), [
    "build.ts",
    "dist",
    "node_modules",
    "package-lock.json",
    "package.json",
    "src",
  ]);
});

test("the service starts while its documentation is built", async () => {
  const docs = join(checkout, "packages", "docs");
  const read = ["docs", "examples/guides", "packages/console/src/design", "packages/console/public"];
  for (const directory of [docs, ...read.map((path) => join(checkout, path))])
    await mkdir(directory, { recursive: true });
  for (const directory of ["examples/pms-adapter", "packages/client"]) {
    await mkdir(join(checkout, directory), { recursive: true });
    await writeFile(join(checkout, directory, "README.md"), "# Read");
  }
  await writeFile(join(checkout, "CHANGELOG.md"), "# Changes");
  await writeFile(join(docs, "package.json"), '{ "name": "docs", "type": "module" }');
  await writeFile(join(docs, "package-lock.json"), LOCK);
  const waitFor = `import * as fs from "node:fs";
    import { setTimeout } from "node:timers/promises";
    const until = async (path: string) => { for (let tries = 0; tries < 200 && !fs.existsSync(path); tries += 1) await setTimeout(50); };`;
  // Each waits for the other: the build for the service to have started, the service for what is built.
  await writeFile(
    join(docs, "build.ts"),
    `${waitFor} await until("../../started");
    if (!fs.existsSync("../../started")) process.exit(4);\n${BUILD}`,
  );
  const main = `${waitFor} fs.writeFileSync("${checkout}/started", "");
    await until("${docs}/dist/.bellhop-build"); console.log(fs.existsSync("${docs}/dist/index.html"));`;
  await writeFile(join(checkout, "src", "main.ts"), main);
  const { out, err } = await launch();
  assert.equal(out, "true\n");
  assert.match(err, /building the documentation/);
  await rm(docs, { recursive: true });
  await writeFile(join(checkout, "src", "main.ts"), 'console.log("started " + process.argv[2]);');
  await taken("builds");
  await taken("npm-calls");
});

test("a failed build of the console is reported, and the service starts with the previous build", async () => {
  await writeFile(join(console_, "build.ts"), "process.exit(3);");
  const { out, err } = await launch();
  assert.equal(out, "started serve\n");
  assert.match(err, /the console is not built: the build failed \(3\)/);
  assert.equal(await readFile(join(console_, "dist", "index.html"), "utf8"), "built");
  await rm(join(console_, "node_modules"), { recursive: true });
  await writeFile(join(checkout, "path", "npm"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  const offline = await launch();
  assert.equal(offline.out, "started serve\n");
  assert.match(offline.err, /the console is not built: npm ci failed with exit code 1;/);
});
