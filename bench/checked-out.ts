import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));

/** A worktree of another revision for comparison. */
export interface CheckedOut {
  readonly folder: string;
  stop(): void;
}

/** The production packages of a lock file. */
function packagesOf(folder: string): string {
  const { packages } = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
  };
  return JSON.stringify(Object.entries(packages).filter(([path, { dev }]) => path !== "" && dev !== true));
}

/** Checks out a revision in a temporary worktree. It uses our packages if the lock files agree. */
export function checkOut(revision: string): CheckedOut {
  const folder = join(mkdtempSync(join(tmpdir(), "bellhop-guard-")), "baseline");
  execFileSync("git", ["worktree", "add", "--detach", folder, revision], { cwd: root, stdio: "ignore" });
  if (packagesOf(root) === packagesOf(folder))
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  else execFileSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: folder, stdio: "ignore" });
  return {
    folder,
    stop() {
      execFileSync("git", ["worktree", "remove", "--force", folder], { cwd: root, stdio: "ignore" });
      rmSync(join(folder, ".."), { recursive: true, force: true });
    },
  };
}
