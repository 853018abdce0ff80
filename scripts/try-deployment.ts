/**
 * `npm run campaign -- deployment [--seconds 10]`: builds and runs the image of the Dockerfile without a container engine,
 * under the constraints of compose.yaml (test/deployment/try-deployment.ts describes the substitutes). Exits with 1 on
 * failure, 77 if unsupported on this machine.
 */

import { tryDeployment } from "../test/deployment/try-deployment.ts";
import { NotHere } from "../test/faults/campaign-command.ts";
import { readOptions } from "./read-options.ts";

const USAGE = `npm run campaign -- deployment [--seconds 10]

Carries out the Dockerfile's instructions on this machine's own system, and runs what came of it as compose.yaml does: an ordinary
user, no capabilities, a tree that cannot be written, a memory limit. Needs Linux, root and control groups of version 1.

  --seconds N   so long batches are sent`;

const { seconds } = readOptions(USAGE, { seconds: { type: "string", default: "10" } });

try {
  const tried = await tryDeployment(Number(seconds), (line) => console.log(line));
  process.exitCode = tried.every(({ isRight }) => isRight) ? 0 : 1;
} catch (error) {
  if (!(error instanceof NotHere)) throw error;
  console.log(`SKIPPED, not tried on this machine: ${error.message}`);
  process.exitCode = 77;
}
