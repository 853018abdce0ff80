import { flag, type Noun, required, text, verb } from "../../cli/command.ts";
import { fields } from "../../cli/output.ts";
import { recordAudit } from "../../identity/audit.ts";
import { UsageError } from "../../platform/errors/operator-error.ts";
import { sizeText } from "../../platform/runtime/amounts.ts";
import { letLowerPriority, lowerPriority } from "../../platform/runtime/lower-priority.ts";
import { openBackupFile, standardOutputSink } from "../backup/backup-file.ts";
import { verifyBackup } from "../backup/read-backup.ts";
import { type BackupReport, writeBackup } from "../backup/write-backup.ts";

function reportLines({ name, bytes, header, manifest }: BackupReport): string[] {
  const rowsOf = (table: string) => String(manifest.tables.find((sum) => sum.table === table)?.rows ?? 0);
  return fields([
    ["file", name],
    ["size", sizeText(bytes)],
    ["as of", header.takenAt],
    ["parts of the log", rowsOf("bellhop.accept_log")],
    ["clients", rowsOf("bellhop.client")],
    ["properties", rowsOf("bellhop.property")],
    [
      "current records",
      `${manifest.state.currentRecords}${header.withState ? "" : " (rebuilt from the log)"}`,
    ],
  ]);
}

const own = verb({
  summary: "write a consistent backup while the service runs",
  details:
    "Contains the log and its outcomes, clients, keys, operators and settings. Current records, versions and the ledger are omitted, " +
    "unless retention has deleted their payloads: a restore rebuilds them from the log. Not in a backup: the erasure " +
    "list (bellhop erasure export) and KEY_ENCRYPTION_KEY (docs/backup.md).",
  args: {
    file: required(
      text("FILE", "a file, a directory for a file named after the time, or - for standard output"),
    ),
  },
  options: {
    withState: flag("include the state: larger, and change numbers are preserved"),
    verify: flag("verify the finished file"),
  },
  examples: [
    "backup /backups",
    "backup /backups/bellhop.tar --verify",
    "backup - | ssh vault 'cat > bellhop.tar'",
  ],
  json: '{"file", "bytes", "takenAt", "version", "withState", "tables": [{"table", "rows"}], "state"}',
  run: ({ file, withState, verify }, { output, progress, session, json }) => {
    const isPiped = file === "-";
    if (isPiped && (verify || json))
      throw new UsageError("With - the backup goes to standard output: --verify and --json cannot be used.");
    if (isPiped && process.stdout.isTTY === true)
      throw new UsageError("A backup cannot be written to a terminal: redirect standard output.");
    return session.database(async ({ database, pool, who }) => {
      lowerPriority();
      const report = await writeBackup({
        clientConfig: database.clientConfig,
        withState,
        sink: isPiped ? standardOutputSink() : await openBackupFile(file, Date.now()),
        opened: (pid) => database.embedded && letLowerPriority(pid),
        onStep: progress.show,
      });
      const { name, bytes, header, manifest } = report;
      if (verify) await verifyBackup(name, progress.show);
      await recordAudit(pool, { who, what: "backup", detail: { file: name, bytes } });
      const { takenAt, version, withState: hasState } = header;
      const tables = manifest.tables.map(({ table, rows }) => ({ table, rows }));
      const summary = { file: name, bytes, takenAt, version, withState: hasState, tables };
      if (isPiped) for (const line of reportLines(report)) output.message(line);
      else output.result({ ...summary, state: manifest.state }, reportLines(report));
    });
  },
});

export const command: Noun = { own };
