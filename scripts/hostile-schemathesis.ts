/**
 * `npm run campaign -- schemathesis`: runs Schemathesis over the OpenAPI document against a separate service process. Exit
 * code 1 if a check fails or an operation could not be tested.
 */
import { createWriteStream } from "node:fs";
import { runSchemathesis } from "../test/hostile/schemathesis/campaign.ts";
import { installSchemathesis } from "../test/hostile/schemathesis/tool.ts";
import { readOptions } from "./read-options.ts";

/** A backfill with a backlog responds 429; a larger share would hide the responses under test. */
const THROTTLED_SHARE_MAX = 0.01;

const USAGE = `npm run campaign -- schemathesis [--max-examples N] [--seed S] [--operations ID,ID] [--output FILE]

Requests generated from the OpenAPI document, valid and invalid, with every check of Schemathesis in every phase: N at most
of an operation and phase. --operations narrows them to these operation ids; --output keeps what Schemathesis printed.`;

const values = readOptions(USAGE, {
  "max-examples": { type: "string", default: "10" },
  seed: { type: "string", default: "1" },
  operations: { type: "string", default: "" },
  output: { type: "string" },
});
const command = await installSchemathesis().catch((error: Error) => {
  console.error(error.message);
  process.exit(2);
});
const output = values.output === undefined ? undefined : createWriteStream(values.output);
const operations = values.operations.split(",").filter((id) => id !== "");
const isWhole = operations.length === 0;
const report = await runSchemathesis({
  command,
  maxExamples: Number(values["max-examples"]),
  seed: Number(values.seed),
  operations,
  onOutput: (text) => output?.write(text),
});

console.log(`${report.cases} cases, seed ${values.seed}`);
for (const [check, { passed, failed }] of report.checks)
  console.log(`  ${check}: ${failed} failed, ${passed} passed`);
console.log("by status");
for (const [status, count] of [...report.statuses].sort()) console.log(`  ${status}: ${count}`);
for (const { check, operation, phase, message, request, response } of report.findings)
  console.log(`\n${check} (${phase}) ${operation}\n${message}\n  ${request}\n  ${response}`);
for (const error of [...report.errors, ...report.log]) console.log(`\n${error}`);
const untested = isWhole ? report.neverAccepted : [];
for (const operation of untested) console.log(`\n${operation} never answered 2xx: it was not tested`);
const throttled = report.statuses.get(429) ?? 0;
const isHidden = throttled > report.cases * THROTTLED_SHARE_MAX;
if (isHidden) console.log(`\n${throttled} answers were 429, which hides what the operation does`);
const problems =
  report.findings.length + report.errors.length + report.log.length + untested.length + Number(isHidden);
console.log(`\nproblems: ${problems}`);
if (problems > 0 || report.cases === 0) process.exitCode = 1;
