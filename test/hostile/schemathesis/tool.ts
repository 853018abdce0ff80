import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** What a report counts and which checks exist depend on the release. */
const VERSION = "4.32.5";
const PYTHONS = ["python3", "python"];
const OLDEST_PYTHON = "3.10";

const cache = fileURLToPath(new URL(`../../../node_modules/.cache/schemathesis-${VERSION}`, import.meta.url));

/** Installs Schemathesis into a virtual environment under node_modules/.cache, once; answers its command. */
export async function installSchemathesis(): Promise<string> {
  const command = join(cache, "bin", "schemathesis");
  if (existsSync(command)) return command;
  const python = PYTHONS.find((name) => isNewEnough(name));
  if (python === undefined)
    throw new Error(
      `This campaign needs Python ${OLDEST_PYTHON} or newer with venv, for Schemathesis ${VERSION}. Install it so that \`python3\` is found, then run the command again.`,
    );
  const run = promisify(execFile);
  await run(python, ["-m", "venv", "--clear", cache]);
  await run(join(cache, "bin", "python"), ["-m", "pip", "install", "-q", `schemathesis==${VERSION}`]);
  return command;
}

function isNewEnough(python: string): boolean {
  const asks = `import sys, venv; sys.exit(sys.version_info < (${OLDEST_PYTHON.replace(".", ", ")}))`;
  return spawnSync(python, ["-c", asks]).status === 0;
}
