import { RESOURCES } from "#contract/resource.ts";
import { choice, count, type Noun, required, text, verb, withDefault } from "../../cli/command.ts";
import { printable } from "../../cli/output.ts";
import { countText } from "../../platform/runtime/amounts.ts";
import { checkOffline, openFile } from "../file-records.ts";

const SOME_INVALID = 3;

const own = verb({
  summary: "check a file of records offline",
  details:
    "Checks by the service's rules without a service: the same codes and messages, with pointers into the whole file. The file is a JSON " +
    "array or NDJSON (one record per line), plain or gzip.",
  args: { file: required(text("FILE", "the file; - is standard input")) },
  options: {
    resource: choice("RESOURCE", RESOURCES, "resource of the records", "detected from the first one"),
    limit: withDefault(count("violations listed; all are counted"), 100),
  },
  examples: ["validate reservations.ndjson.gz", "validate - --resource groups --json < groups.json"],
  json: '{"file", "resource", "records", "invalid", "violationTotal", "violations": [{"pointer", "code", "message"}]}',
  exitCodes:
    "0 every record is valid, 1 the file cannot be read as records, 2 usage error, 3 some records are invalid.",
  run: async ({ file, resource: said, limit }, { output, json }) => {
    const { resource, records } = await openFile(file, said);
    const listed: object[] = [];
    let total = 0;
    let invalid = 0;
    let violationTotal = 0;
    for await (const { json: bytes, place } of records) {
      total += 1;
      const found = checkOffline(resource, bytes, place);
      if (found.total === 0) continue;
      invalid += 1;
      violationTotal += found.total;
      for (const violation of found.violations.slice(0, limit - listed.length)) {
        listed.push(violation);
        const { pointer, code, message } = violation;
        if (!json) output.line(`${printable(pointer)}  ${code}  ${printable(message)}`);
      }
    }
    const more = violationTotal - listed.length;
    const result =
      invalid === 0 ? "all valid" : `${invalid} invalid, ${countText(violationTotal, "violation")}`;
    output.result({ file, resource, records: total, invalid, violationTotal, violations: listed }, [
      ...(more > 0 ? [`${more} more violations: raise --limit.`] : []),
      `${total} ${resource}: ${result}`,
    ]);
    return invalid === 0 ? 0 : SOME_INVALID;
  },
});

export const command: Noun = { own };
