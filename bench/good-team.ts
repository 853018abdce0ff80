import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The alternative that users would build, with its own packages. */
const FOLDER = new URL("./good-team/", import.meta.url);
export const GOOD_TEAM_SERVER = new URL("server.ts", FOLDER);

/** Installs the good team's packages unless they match its lock file. Throws with npm's output on failure. */
export function installGoodTeam(): void {
  const installed = new URL("node_modules/.package-lock.json", FOLDER);
  const lock = readFileSync(new URL("package-lock.json", FOLDER), "utf8");
  const mark = new URL("node_modules/.installed-lock.json", FOLDER);
  if (existsSync(installed) && existsSync(mark) && readFileSync(mark, "utf8") === lock) return;
  console.error("installing the packages of the good team, once");
  try {
    execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
      cwd: fileURLToPath(FOLDER),
      stdio: ["ignore", "ignore", "pipe"],
    });
  } catch (error) {
    const said = String((error as { stderr?: Buffer }).stderr ?? (error as Error).message).trim();
    throw new Error(
      `The packages of the good team could not be installed; without a network, leave it out with --no-peer. npm said:\n${said}`,
    );
  }
  writeFileSync(mark, lock);
}
