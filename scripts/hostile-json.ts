/**
 * `npm run campaign -- hostile-json [DIRECTORY]`: sends malformed and unusual JSON over HTTP: the project's own cases, and those
 * in a directory of `y_*.json`, `n_*.json` and `i_*.json` files. Exit code 1 for an unexpected response.
 */

import { type JsonCase, ownCases, readSuite, tortureJson } from "../test/hostile/json-torture.ts";
import { startTestService } from "../test/support/service.ts";

const [directory] = process.argv.slice(2);
const sets: [string, JsonCase[]][] = [["own cases", ownCases()]];
if (directory !== undefined) sets.push([directory, await readSuite(directory)]);
for (const [name, cases] of sets) {
  const service = await startTestService();
  const report = await tortureJson(service, cases);
  await service.stop();
  console.log(`${name}: ${cases.length} cases, ${report.requests} requests`);
  for (const [answer, count] of [...report.answers].sort()) console.log(`  ${answer}: ${count}`);
  console.log(`  stored and read back byte for byte: ${report.keptExactly}`);
  console.log(`  JSON, but refused with a pointer: ${report.refusedWithPointer.join(", ") || "none"}`);
  for (const problem of report.problems) console.log(`  PROBLEM ${problem}`);
  if (cases.length === 0 || report.problems.length > 0) process.exitCode = 1;
}
