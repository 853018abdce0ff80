import { countText } from "../doctor/amounts.ts";
import { checkOffline, openFile, readResource } from "./file-records.ts";
import { printable } from "./text-output.ts";
import { usageOf } from "./usage.ts";
import { readArgs, readCount, readOne } from "./verb.ts";

const HELP = `bellhop validate FILE|- [--resource inventories|reservations|groups] [--limit N] [--json]

Checks the records of a file (- is standard input) by the rules of the service, without one: the same codes and messages, and the
pointers of a batch that would be the whole file. The file is a JSON array or NDJSON (a record a line), plain or gzip.

  --resource R   what the records are; by default what the first one shows
  --limit N      violations that are listed (100); all are counted
  --json         one JSON object

Exit code 0: every record is valid. 1: the file cannot be read as records. 2: the line is wrong. 3: some are invalid.
`;

const OPTIONS = {
  resource: { type: "string" },
  limit: { type: "string" },
  json: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

const LISTED = 100;
const SOME_INVALID = 3;

async function validate(
  file: string,
  values: { resource?: string; limit?: string; json: boolean },
): Promise<number> {
  const limit = readCount("limit", values.limit) ?? LISTED;
  const { resource, records } = await openFile(file, readResource(values.resource));
  const listed: object[] = [];
  let count = 0;
  let invalid = 0;
  let total = 0;
  for await (const { json, place } of records) {
    count += 1;
    const found = checkOffline(resource, json, place);
    if (found.total === 0) continue;
    invalid += 1;
    total += found.total;
    for (const violation of found.violations.slice(0, limit - listed.length)) {
      listed.push(violation);
      const { pointer, code, message } = violation;
      if (!values.json) process.stdout.write(`${printable(pointer)}  ${code}  ${printable(message)}\n`);
    }
  }
  const summary = { file, resource, records: count, invalid, violationTotal: total };
  if (values.json) process.stdout.write(`${JSON.stringify({ ...summary, violations: listed })}\n`);
  else {
    const more = total - listed.length;
    if (more > 0) process.stdout.write(`… and ${more} more\n`);
    const found = invalid === 0 ? "all valid" : `${invalid} invalid, ${countText(total, "violation")}`;
    process.stdout.write(`${count} ${resource}: ${found}\n`);
  }
  return invalid === 0 ? 0 : SOME_INVALID;
}

/** `bellhop validate FILE|-`: checks a file of records offline. Answers the exit code. */
export function validateCommand(args: readonly string[]): Promise<number> {
  return usageOf("validate", HELP, args, async () => {
    const { values, positionals } = readArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
    return await validate(readOne("FILE", positionals), values);
  });
}
