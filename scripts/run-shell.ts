import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
// Programs of the packages, and the pinned Node before one of the machine.
const path = [join(root, "node_modules", ".bin"), dirname(process.execPath), process.env["PATH"]].join(":");

/** Runs a shell command in the project's folder with the packages' programs. Returns whether it exited with 0. */
export function runShell(command: string): boolean {
  const { status } = spawnSync("/bin/sh", ["-c", command], {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, PATH: path },
  });
  return status === 0;
}
