/**
 * `npm run check -- client`: checks packages/client as it would be published: it compiles, passes publint and Are The
 * Types Wrong, is small, and exports what `packages/client/api.txt` lists. `--write` updates that list.
 */
import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describeApi } from "./client-api.ts";
import { buildClient, CLIENT_DIRECTORY, type PackedClient, packClient } from "./client-package.ts";

const run = promisify(execFile);
const bin = (name: string) => fileURLToPath(new URL(`../node_modules/.bin/${name}`, import.meta.url));
const SNAPSHOT = join(CLIENT_DIRECTORY, "api.txt");

/** About one and a half times today's size: room for a feature, not for a dependency. */
const PACKED_BYTES_MAX = 48_000;
const UNPACKED_BYTES_MAX = 180_000;

const problems: string[] = [];

async function ask(name: string, args: readonly string[]): Promise<void> {
  try {
    await run(process.execPath, [bin(name), ...args], { cwd: CLIENT_DIRECTORY });
  } catch (cause) {
    const words = cause instanceof Error && "stdout" in cause ? `${cause.stdout}` : String(cause);
    problems.push(`${name}:\n${words}`);
  }
}

function weigh({ packedBytes, unpackedBytes, files }: PackedClient): void {
  console.log(`${files.length} files, ${packedBytes} bytes packed, ${unpackedBytes} unpacked`);
  if (packedBytes > PACKED_BYTES_MAX || unpackedBytes > UNPACKED_BYTES_MAX)
    problems.push(`It is larger than ${PACKED_BYTES_MAX} bytes packed or ${UNPACKED_BYTES_MAX} unpacked.`);
  const odd = files.filter(
    (path) => !/^(dist\/[\w-]+\.(js|d\.ts)|package\.json|README\.md|LICENSE)$/.test(path),
  );
  if (odd.length > 0) problems.push(`It has files that nobody needs: ${odd.join(", ")}.`);
}

async function compareApi(): Promise<void> {
  const fresh = describeApi();
  if (process.argv.includes("--write")) return await writeFile(SNAPSHOT, fresh);
  if (fresh === (await readFile(SNAPSHOT, "utf8").catch(() => undefined))) return;
  spawnSync(
    "diff",
    ["-u", "--label", "packages/client/api.txt", SNAPSHOT, "--label", "what it exports", "-"],
    {
      input: fresh,
      stdio: ["pipe", "inherit", "inherit"],
    },
  );
  problems.push("It exports something else than packages/client/api.txt: npm run check -- client --write.");
}

await buildClient();
const directory = await mkdtemp(join(tmpdir(), "bellhop-client-"));
try {
  const packed = await packClient(directory);
  weigh(packed);
  await ask("publint", ["run", packed.tarball, "--strict"]);
  await ask("attw", [packed.tarball, "--profile", "esm-only"]);
  await compareApi();
} finally {
  await rm(directory, { recursive: true, force: true });
}
if (problems.length > 0) {
  console.error(problems.join("\n\n"));
  process.exitCode = 1;
}
