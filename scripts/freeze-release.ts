/**
 * `node bin/launch.mjs --dev scripts/freeze-release.ts VERSION COMMIT`: creates test/released/VERSION for a commit
 * older than the release script. `npm run release` does it for each release.
 */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { freezeRelease } from "./release/freeze-release.ts";
import { layOutRelease } from "./release/lay-out-release.ts";

const [version, commit] = process.argv.slice(2);
if (version === undefined || !/^\d+\.\d+\.\d+$/.test(version) || commit === undefined)
  throw new Error("VERSION and COMMIT are needed.");
const git = (...args: readonly string[]) =>
  execFileSync("git", args, { cwd: fileURLToPath(new URL("../", import.meta.url)), encoding: "utf8" }).trim();
const release = {
  version,
  commit: git("rev-parse", `${commit}^{commit}`),
  date: git("log", "-1", "--format=%cs", commit),
};
const { directory, remove } = await layOutRelease({ ...release, migrations: {} });
try {
  await freezeRelease({ ...release, directory });
} finally {
  await remove();
}
