import { setFlagsFromString } from "node:v8";
import { choice, flag, listText, type Noun, required, text, texts, verb } from "../cli/command.ts";
import { fields, figure } from "../cli/output.ts";
import { recordAudit } from "../identity/audit.ts";
import { UsageError } from "../platform/errors/operator-error.ts";
import { sizeText } from "../platform/runtime/amounts.ts";
import { letLowerPriority, lowerPriority } from "../platform/runtime/lower-priority.ts";
import { FORMATS } from "./row-file.ts";
import { type ExportReport, runExport } from "./run-export.ts";
import { DEFAULT_TABLES, TABLE_NAMES, type TableName } from "./tables.ts";

/**
 * Maximum heap growth over live data, in percent. V8's default allowed several times the 100,000 rows in memory: an export of ten million
 * nights took 598 MB, now 260 MB in the same time.
 */
const HEAP_GROWTH_PERCENT = 50;

function isTable(name: string): name is TableName {
  return (TABLE_NAMES as readonly string[]).includes(name);
}

function tableNames(given: readonly string[]): readonly TableName[] | undefined {
  const unknown = given.find((name) => !isTable(name));
  if (unknown !== undefined)
    throw new UsageError(`--table must be ${listText(TABLE_NAMES)}, not ${JSON.stringify(unknown)}.`);
  return given.length === 0 ? undefined : given.filter(isTable);
}

/** Rows and bytes written, by table. */
function sumsOf({ manifest, written }: ExportReport) {
  const files = written.flatMap((pass) => pass.files);
  return manifest.basis.tables.map((table) => {
    const own = files.filter((file) => file.table === table);
    const sum = (of: "rows" | "bytes") => own.reduce((all, file) => all + file[of], 0);
    return { table, rows: sum("rows"), bytes: sum("bytes"), files: own.length };
  });
}

const own = verb({
  summary: "export records, versions, nights, blocks and outcomes as Parquet, CSV or NDJSON",
  details:
    "The first run writes everything, later runs only changes. Read the files that manifest.json names (docs/export.md). " +
    "The next run resumes a killed one. After an erasure, a deletion, a restore or an upgrade, a run writes all files again and " +
    "deletes the earlier ones.",
  args: { directory: required(text("DIR", "an empty folder, or one with an export")) },
  options: {
    format: choice("FORMAT", FORMATS, "file format (default: that of the folder, else parquet)"),
    table: texts(
      "TABLE",
      `${listText(TABLE_NAMES)} (default: those of the folder, else ${DEFAULT_TABLES.join(", ")})`,
    ),
    full: flag("write all files again"),
  },
  examples: [
    "export /data/bellhop",
    "export /data/nights --table nights",
    "export /data/csv --format csv --full",
  ],
  json: '{"directory", "takenAt", "full", "tables": [{"table", "rows", "bytes", "files"}]}',
  check: ({ table }) => void tableNames(table),
  database: async ({ directory, format, table, full }, { database, pool, who }, { output, progress }) => {
    let done = 0;
    const share = () => done;
    lowerPriority();
    setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
    const report = await runExport({
      clientConfig: database.clientConfig,
      pool,
      directory,
      format,
      tables: tableNames(table),
      full,
      opened: (pid) => database.embedded && letLowerPriority(pid),
      progress: (name, _bucket, read) => {
        done = read;
        progress.show(`exporting ${name}`, share);
      },
    });
    const tables = sumsOf(report);
    const bytes = tables.reduce((sum, written) => sum + written.bytes, 0);
    await recordAudit(pool, { who, what: "export", detail: { directory, full: report.full, bytes } });
    const { takenAt } = report.manifest;
    output.result(
      { directory, takenAt, full: report.full, tables },
      fields([
        ["folder", directory],
        ["as of", takenAt],
        ["written", report.full === null ? "what has changed" : `everything: ${report.full}`],
        ...tables.map(({ table: name, rows }): [string, string] => [name, `${figure(rows)} rows`]),
        ["size", sizeText(bytes)],
      ]),
    );
  },
});

export const command: Noun = { own };
