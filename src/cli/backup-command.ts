import { recordAudit } from "../auth/audit.ts";
import { openBackupFile, standardOutputSink } from "../backup/backup-file.ts";
import { verifyBackup } from "../backup/read-backup.ts";
import { type BackupReport, writeBackup } from "../backup/write-backup.ts";
import { giveWay, letGiveWay } from "../threads/give-way.ts";
import { openForCommand } from "./open-for-command.ts";
import { sizeText, stepLine } from "./progress-line.ts";
import { fieldLines } from "./text-output.ts";
import { usageOf } from "./usage.ts";
import { readArgs, readOne, UsageError } from "./verb.ts";

const HELP = `bellhop backup FILE|DIRECTORY|- [--with-state] [--verify] [--json]

Writes one consistent copy of the service's data to a file, while the service goes on: the log, what became of it, clients,
keys, operators, settings. Current records, versions and the ledger are not in it (unless retention has taken out of the log
what they were made of): a restore makes them of the log again.
What is named a directory gets a file that is named after the moment; - is standard output. Erasures are kept apart
(bellhop erasure export), and so is KEY_ENCRYPTION_KEY: docs/backup.md.

  --with-state   the state, too: larger, and change numbers stay what they are
  --verify       read the file again when it is written, and check all of it
  --json         one JSON object on standard output
`;

const OPTIONS = {
  "with-state": { type: "boolean", default: false },
  verify: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
} as const;

function jsonOf({ name, bytes, header, manifest }: BackupReport): object {
  const { takenAt, version, withState } = header;
  const tables = manifest.tables.map(({ table, rows }) => ({ table, rows }));
  return { file: name, bytes, takenAt, version, withState, tables, state: manifest.state };
}

function describe({ name, bytes, header, manifest }: BackupReport): string[] {
  const rowsOf = (table: string) => String(manifest.tables.find((sum) => sum.table === table)?.rows ?? 0);
  return fieldLines([
    ["written to", name],
    ["size", sizeText(bytes)],
    ["as of", header.takenAt],
    ["parts of the log", rowsOf("bellhop.accept_log")],
    ["clients", rowsOf("bellhop.client")],
    ["properties", rowsOf("bellhop.property")],
    ["current records", `${manifest.state.currentRecords}${header.withState ? "" : " (of the log, again)"}`],
  ]);
}

async function run(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { values, positionals } = readArgs({ args: [...args], allowPositionals: true, options: OPTIONS });
  const path = readOne("FILE", positionals);
  const isPiped = path === "-";
  if (isPiped && (values.verify || values.json))
    throw new UsageError("Standard output is the backup itself: --verify and --json do not go with it.");
  if (isPiped && process.stdout.isTTY === true)
    throw new UsageError("A backup is nothing for a terminal: lead it into a file or a program.");
  return openForCommand(environment, async ({ database, who }) => {
    const step = stepLine(values.json);
    giveWay();
    const report = await writeBackup({
      clientConfig: database.clientConfig,
      withState: values["with-state"],
      sink: isPiped ? standardOutputSink() : await openBackupFile(path, Date.now()),
      opened: (pid) => database.embedded && letGiveWay(pid),
      progress: (table, bytes) => step.show(`${table}, ${sizeText(bytes)}`),
    });
    if (values.verify) {
      step.show("checking what was written");
      await verifyBackup(report.name);
    }
    step.end();
    const { name, bytes } = report;
    await recordAudit(database.pool, { who, what: "backup", detail: { file: name, bytes } });
    const lines = values.json ? [JSON.stringify(jsonOf(report))] : describe(report);
    (isPiped ? process.stderr : process.stdout).write(`${lines.join("\n")}\n`);
    return 0;
  });
}

/** `bellhop backup`. */
export function backupCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  return usageOf("backup", HELP, args, () => run(args, environment));
}
