import { RESOURCES } from "#contract/resource.ts";
import { choice, count, type Noun, required, text, verb, withDefault } from "../../cli/command.ts";
import { printable } from "../../cli/output.ts";
import { countText } from "../../platform/runtime/amounts.ts";
import { type CellPlace, recordsText } from "../file-record.ts";
import { checkOffline, openFile, warningsOffline } from "../file-records.ts";

const SOME_INVALID = 3;

const own = verb({
  summary: "check a file of records offline",
  details:
    "Checks by the service's rules without a service: the same codes and messages, with pointers into the whole file, and the warnings that " +
    "a record has on its own. The file is a JSON " +
    "array, NDJSON (one record per line) or CSV (bellhop template), plain or gzip.",
  args: { file: required(text("FILE", "the file; - is standard input")) },
  options: {
    resource: choice("RESOURCE", RESOURCES, "resource of the records", "detected from the first one"),
    limit: withDefault(count("violations and warnings listed, each; all are counted"), 100),
  },
  examples: ["validate reservations.ndjson.gz", "validate - --resource groups --json < groups.json"],
  json: '{"file", "resource", "records", "invalid", "violationTotal", "warningTotal", "violations": [{"pointer", "code", "message", "line"}], "warnings": [{"pointer", "code", "message", "line"}]}',
  exitCodes:
    "0 every record is valid, 1 the file cannot be read as records, 2 usage error, 3 some records are invalid.",
  run: async ({ file, resource: said, limit }, { output, json }) => {
    const { resource, records } = await openFile(file, said);
    const listed: object[] = [];
    const warned: object[] = [];
    let warnings = 0;
    let total = 0;
    let invalid = 0;
    let violationTotal = 0;
    const print = ({ line, column }: CellPlace, pointer: string, code: string, message: string) => {
      const where = column === undefined ? `line ${line}` : `line ${line}, column ${printable(column)}`;
      if (!json) output.line(`${where}  ${printable(pointer)}  ${code}  ${printable(message)}`);
    };
    for await (const record of records) {
      total += 1;
      const found = checkOffline(resource, record);
      if (found.total === 0) {
        const { place } = record;
        for (const { pointer, code, message } of warningsOffline(resource, record)) {
          warnings += 1;
          if (warned.length >= limit) continue;
          const { line, column } = record.locate(pointer);
          const where = column === undefined ? { line } : { line, column };
          warned.push({ pointer: `/${place}${pointer}`, code, message, ...where });
          print(where, `/${place}${pointer}`, code, message);
        }
        continue;
      }
      invalid += 1;
      violationTotal += found.total;
      for (const violation of found.violations.slice(0, limit - listed.length)) {
        listed.push(violation);
        print(violation, violation.pointer, violation.code, violation.message);
      }
    }
    const more = violationTotal - listed.length;
    const unlisted = warnings - warned.length;
    const result =
      invalid === 0 ? "all valid" : `${invalid} invalid, ${countText(violationTotal, "violation")}`;
    const counts = { records: total, invalid, violationTotal, warningTotal: warnings };
    output.result({ file, resource, ...counts, violations: listed, warnings: warned }, [
      ...(more > 0 ? [`${more} more violations: raise --limit.`] : []),
      ...(unlisted > 0 ? [`${unlisted} more warnings: raise --limit.`] : []),
      `${recordsText(total, resource)}: ${result}${warnings === 0 ? "" : `, ${countText(warnings, "warning")}`}`,
    ]);
    return invalid === 0 ? 0 : SOME_INVALID;
  },
});

export const command: Noun = { own };
