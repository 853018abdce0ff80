import type pg from "pg";
import { recordAudit } from "../auth/audit.ts";
import { createSealer } from "../auth/seal.ts";
import { verifyBackup } from "../backup/read-backup.ts";
import { type RestoreReport, restore } from "../backup/restore.ts";
import { readConfig } from "../config.ts";
import { openDatabase } from "../db/open-database.ts";
import { createLogger } from "../observe/log.ts";
import { type ErasureListFile, importErasures } from "../retention/erasure/list-file.ts";
import { readListFile } from "../retention/erasure/list-on-disk.ts";
import { applyImported } from "../retention/erasure/run-erasure.ts";
import { openSealedPayloads } from "../threads/payload-sealing.ts";
import { currentUser } from "./open-for-command.ts";
import { openNamed } from "./open-named.ts";
import { stepLine } from "./progress-line.ts";
import { fieldLines } from "./text-output.ts";
import { usageOf } from "./usage.ts";
import { readArgs, readOne, UsageError } from "./verb.ts";

const HELP = `bellhop restore FILE (--erasures LIST | --without-erasures) [--into DATABASE_URL] [--json]
bellhop restore FILE --check [--json]

Fills an empty database with what a backup holds, makes current records, versions and the ledger of its log again, and
compares them by digest with those that the backup was taken of. The database is that of DATABASE_URL or DATA_DIR, or what
--into names; one that has a Bellhop in it is refused, and so are a damaged file and one whose sealed batches do not open
with KEY_ENCRYPTION_KEY, before anything is written. Cut off, it is run
again and begins anew; until it is done no service starts on the database. docs/backup.md says what to do afterwards.

  --check              only read the file and check all of it
  --erasures LIST      the newest list of erasures (bellhop erasure export): everybody on it is erased before anybody may use
                       the database, and stays on the list
  --without-erasures   nobody was ever erased, or their names may come back
  --into URL           another database than that of the settings
  --nothing-lost       the service was stopped before the backup was taken, and has not run since: cursors of the change feed
                       and webhooks go on where they are (of a backup with --with-state)
  --accept-difference  finish although the state is not the one that the backup was taken of
  --json               one JSON object on standard output

Exit code: 0 done and equal, 1 not done, or finished with a difference.
`;

const OPTIONS = {
  check: { type: "boolean", default: false },
  erasures: { type: "string" },
  "without-erasures": { type: "boolean", default: false },
  into: { type: "string" },
  "nothing-lost": { type: "boolean", default: false },
  "accept-difference": { type: "boolean", default: false },
  json: { type: "boolean", default: false },
} as const;

async function check(path: string, isJson: boolean): Promise<number> {
  const { header, manifest } = await verifyBackup(path);
  const { takenAt, version, postgres, withState } = header;
  const lines = fieldLines([
    ["backup", "whole and undamaged"],
    ["as of", takenAt],
    ["written by", `Bellhop ${version} on PostgreSQL ${postgres}`],
    ["state", withState ? "in it" : "of the log, again"],
    ["current records", String(manifest.state.currentRecords)],
  ]);
  const answer = { file: path, takenAt, version, postgres, withState, state: manifest.state };
  process.stdout.write(isJson ? `${JSON.stringify(answer)}\n` : `${lines.join("\n")}\n`);
  return 0;
}

function describe({ content, parts, equal, finished }: RestoreReport): string {
  const { currentRecords, versions } = content.manifest.state;
  return [
    ...fieldLines([
      ["backup as of", content.header.takenAt],
      ["replayed", `${parts} parts of the log`],
      ["current records", String(currentRecords)],
      ["versions", String(versions)],
      [
        "compared",
        equal ? "equal: the state is the one that was backed up" : "DIFFERENT from what was backed up",
      ],
    ]),
    finished
      ? "The database may be used: start the service. What to tell partners is in docs/backup.md."
      : "Nothing may use this database yet. If the difference is known and wanted: --accept-difference.",
    "",
  ].join("\n");
}

/** The list is read before anything is begun: undefined where there is none, which has to be said. */
async function readErasures(
  path: string | undefined,
  isWithout: boolean,
): Promise<ErasureListFile | undefined> {
  if ((path === undefined) !== isWithout)
    throw new UsageError(
      "A backup holds who was erased since it was taken: name the list, --erasures LIST, or say --without-erasures.",
    );
  return path === undefined ? undefined : readListFile(path);
}

/** Takes everybody on the list out of what was restored. */
async function eraseAgain(client: pg.ClientBase, list: ErasureListFile): Promise<void> {
  await importErasures(client, list);
  const ids = list.erasures.map(({ erasureId }) => erasureId);
  await applyImported(client, ids, currentUser());
}

async function run(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { values, positionals } = readArgs({ args: [...args], allowPositionals: true, options: OPTIONS });
  const path = readOne("FILE", positionals);
  if (values.check) return check(path, values.json);
  const erasures = await readErasures(values.erasures, values["without-erasures"]);
  const config = readConfig(environment);
  const log = createLogger({ level: "warn", pretty: process.stderr.isTTY === true, fileDescriptor: 2 });
  const database =
    values.into === undefined
      ? await openDatabase(config, log, { role: "service", poolSize: 4, leavesSchema: true })
      : await openNamed("--into", { ...config, databaseUrl: values.into }, log);
  const sealer = createSealer(config.keyEncryptionKey, config.keyEncryptionKeysPrevious);
  const closePayloads = openSealedPayloads(database.pool, sealer);
  const step = stepLine(values.json);
  try {
    const report = await restore({
      ...{ path, log, sealer, clientConfig: database.clientConfig, pool: database.pool },
      nothingLost: values["nothing-lost"],
      acceptDifference: values["accept-difference"],
      ...(erasures === undefined ? {} : { beforeUse: (client) => eraseAgain(client, erasures) }),
      progress: step.show,
    });
    step.end();
    const { equal, finished, content } = report;
    if (finished) {
      const detail = { file: path, takenAt: content.header.takenAt, equal };
      await recordAudit(database.pool, { who: currentUser(), what: "restore", detail });
    }
    const answer = {
      equal,
      finished,
      parts: report.parts,
      expected: content.manifest.state,
      rebuilt: report.rebuilt,
    };
    process.stdout.write(values.json ? `${JSON.stringify(answer)}\n` : describe(report));
    return equal ? 0 : 1;
  } finally {
    closePayloads();
    await database.close();
  }
}

/** `bellhop restore`. */
export function restoreCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  return usageOf("restore", HELP, args, () => run(args, environment));
}
