/**
 * `npm run clients`: generates clients from docs/openapi.json, compiles them and uses them against a service. Needs the
 * network, Java with Maven, and Python 3.11; Go is optional. Exit code 1 if a generator warns or a client fails.
 */
import { type Tried, tryGeneratedClients } from "../test/generated-clients/campaign.ts";
import { readOptions } from "./read-options.ts";

const USAGE = `npm run clients [-- --only Java,Go]

Generates clients by openapi-generator and openapi-python-client, compiles those whose toolchain is here, and lets a small program of
each get a token, push three records of each resource, read them back and page through them. --only narrows it to these.`;

const HEAD = ["client", "generated", "warnings of ours", "compiled", "pushed", "read back", "paged"];

const { only } = readOptions(USAGE, { only: { type: "string", default: "" } });

const word = (isDone: boolean | undefined) => (isDone === undefined ? "not tried" : isDone ? "yes" : "NO");

function rowOf({ name, generated, warnings, compiled, done }: Tried): string[] {
  const steps = [compiled, done?.pushed, done?.["read back"], done?.paged];
  return [name, word(generated), String(warnings.ours.length), ...steps.map(word)];
}

const isBad = ({ problem, warnings, done }: Tried): boolean =>
  problem !== undefined || warnings.ours.length > 0 || Object.values(done ?? {}).includes(false);

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
