/**
 * `npm run clients`: generates clients from docs/openapi.codegen.json, compiles them and uses them against a service, and against the
 * answers of a later release. Needs the network, Java with Maven, and Python 3.11; Go, PHP and Mono are optional. Exit code 1 if a
 * generator warns or a client fails.
 */
import { type Tried, tryGeneratedClients } from "../test/generated-clients/campaign.ts";
import { CLIENTS } from "../test/generated-clients/clients.ts";
import { readOptions } from "./read-options.ts";

const USAGE = `npm run clients [-- --only "Java (native),Go"]

Generates clients by openapi-generator, openapi-python-client, NSwag and the generators for TypeScript, compiles those whose toolchain
is here, and lets a small program of each get a token, push three records of each resource, read them back and page through them; then once more
with answers of a later release, which have more fields, an outcome and a warning that are not known today. --only narrows it to
these: ${CLIENTS.map(({ name }) => name).join(", ")}.`;

const HEAD = [
  "client",
  "generated",
  "warnings of ours",
  "compiled",
  "pushed",
  "read back",
  "paged",
  "a later release",
];

const { only } = readOptions(USAGE, { only: { type: "string", default: "" } });

const word = (isDone: boolean | undefined) => (isDone === undefined ? "not tried" : isDone ? "yes" : "NO");

function rowOf({ name, generated, warnings, compiled, done, later }: Tried): string[] {
  const steps = [compiled, done?.pushed, done?.["read back"], done?.paged, later];
  return [name, word(generated), String(warnings.ours.length), ...steps.map(word)];
}

const isBad = ({ problem, warnings, done, later }: Tried): boolean =>
  later === false ||
  problem !== undefined ||
  warnings.ours.length > 0 ||
  Object.values(done ?? {}).includes(false);

const all = await tryGeneratedClients(
  only.split(",").filter((name) => name !== ""),
  ({ name, warnings, problem }) => {
    console.log(name);
    for (const warning of warnings.ours) console.log(`  of ours: ${warning}`);
    for (const warning of new Set(warnings.own))
      console.log(`  the generator's own: ${warning.slice(0, 160)}`);
    if (problem !== undefined) console.log(`  ${problem}`);
  },
);
const rows = [HEAD, ...all.map(rowOf)];
const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
console.log();
for (const row of rows) console.log(row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "));
if (all.length === 0 || all.some(isBad)) process.exitCode = 1;
