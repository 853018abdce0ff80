/** `npm run check`: runs every `check:…` script of package.json, even after a failure. */
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
  scripts: Record<string, string>;
};
// As npm runs them, but under the pinned Node.
const path = [join(root, "node_modules", ".bin"), dirname(process.execPath), process.env["PATH"]].join(":");

const failed: string[] = [];
for (const [name, command] of Object.entries(scripts)) {
  if (!name.startsWith("check:")) continue;
  const startedAt = Date.now();
  console.log(`\n> ${name}`);
  const { status } = spawnSync("/bin/sh", ["-c", command], {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, PATH: path },
  });
  console.log(
    `${name} ${status === 0 ? "holds" : "FAILED"} (${((Date.now() - startedAt) / 1000).toFixed(1)} s)`,
  );
  if (status !== 0) failed.push(name);
}
if (failed.length > 0) {
  console.error(`\nFailed: ${failed.join(", ")}`);
  process.exitCode = 1;
}
