import { flag, type Noun, required, text, verb } from "../../cli/command.ts";
import { fields, type Output } from "../../cli/output.ts";
import type { Progress } from "../../cli/progress.ts";
import type { Opened } from "../../cli/session.ts";
import { recordAudit } from "../../identity/audit.ts";
import { UsageError } from "../../platform/errors/operator-error.ts";
import { readListFile } from "../../privacy/erasure/erasure-list.ts";
import { verifyBackup } from "../backup/read-backup.ts";
import { type RestoreReport, restore } from "../backup/restore.ts";

async function check(file: string, output: Output, progress: Progress): Promise<void> {
  const { header, manifest } = await verifyBackup(file, progress.show);
  const { takenAt, version, postgres, withState } = header;
  output.result(
    { file, takenAt, version, postgres, withState, state: manifest.state },
    fields([
      ["backup", "complete and undamaged"],
      ["as of", takenAt],
      ["written by", `Bellhop ${version} on PostgreSQL ${postgres}`],
      ["state", withState ? "included" : "rebuilt from the log"],
      ["current records", String(manifest.state.currentRecords)],
    ]),
  );
}

function reportLines({ content, parts, equal, finished }: RestoreReport): string[] {
  const { currentRecords, versions } = content.manifest.state;
  return [
    ...fields([
      ["backup as of", content.header.takenAt],
      ["replayed", `${parts} parts of the log`],
      ["current records", String(currentRecords)],
      ["versions", String(versions)],
      [
        "compared",
        equal ? "equal to the state that was backed up" : "DIFFERENT from the state that was backed up",
      ],
    ]),
    finished
      ? "The database is ready: start the service. docs/backup.md lists what to tell partners."
      : "The database must not be used yet. To accept a known difference, run again with --accept-difference.",
  ];
}

const own = verb({
  summary: "fill an empty database from a backup, or check a backup",
  details:
    "Rebuilds current records, versions and the ledger from the log and compares them with those of the backup by digest. Refuses, before " +
    "anything is written, a database that Bellhop already uses, a damaged file, and payloads that KEY_ENCRYPTION_KEY does not decrypt. " +
    "If interrupted, run it again: it starts over. No service starts on the database before it has finished.",
  args: { file: required(text("FILE", "the backup")) },
  options: {
    check: flag("only verify the file"),
    erasures: text("LIST", "newest erasure list (bellhop erasure export): its erasures are repeated"),
    withoutErasures: flag("restore without an erasure list: erased guests may reappear"),
    into: text("DATABASE_URL", "database to fill (default: the configured one)"),
    nothingLost: flag(
      "the service was stopped before the backup and has not run since: cursors and webhooks continue (needs a backup --with-state)",
    ),
    acceptDifference: flag("finish although the state differs from the backup's"),
  },
  examples: [
    "restore /backups/bellhop.tar --check",
    "restore /backups/bellhop.tar --erasures /secure/erasures.json",
    "restore /backups/bellhop.tar --without-erasures --into postgresql://bellhop@db/bellhop",
  ],
  json: '{"equal", "finished", "parts", "expected", "rebuilt"}; with --check {"file", "takenAt", "version", "postgres", "withState", "state"}',
  exitCodes: "0 finished and equal, 1 not finished, or finished with a difference.",
  run: async (
    { file, check: isCheck, erasures: path, withoutErasures, into, ...accepted },
    { output, progress, session },
  ) => {
    if (isCheck) return check(file, output, progress);
    if ((path === undefined) !== withoutErasures)
      throw new UsageError(
        "A backup contains guests erased since it was taken: give --erasures LIST or --without-erasures.",
      );
    // Read the list before anything is written.
    const list = path === undefined ? undefined : await readListFile(path);
    const fill = async ({ database: { clientConfig }, pool, log, cipher, who }: Opened): Promise<number> => {
      const report = await restore({
        path: file,
        log,
        cipher,
        clientConfig,
        pool,
        ...accepted,
        onStep: progress.show,
        erasures: list === undefined ? undefined : { list, who },
      });
      const { equal, finished, content, parts, rebuilt } = report;
      const detail = { file, takenAt: content.header.takenAt, equal };
      if (finished) await recordAudit(pool, { who, what: "restore", detail });
      output.result(
        { equal, finished, parts, expected: content.manifest.state, rebuilt },
        reportLines(report),
      );
      return equal ? 0 : 1;
    };
    return into === undefined ? session.asService(false, fill) : session.named("--into", into, fill);
  },
});

export const command: Noun = { own };
