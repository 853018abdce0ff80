import { readStatement } from "../../platform/db/statement.ts";
import { sizeText } from "../../platform/runtime/amounts.ts";
import { type Finding, ok, serverRowCheck, warning } from "./finding.ts";

interface LogFiles {
  readonly walBytes: number;
  /** `max_wal_size` and `wal_keep_size`. */
  readonly walMost: number;
  readonly walKept: number;
  /** Null if the server writes its log elsewhere. */
  readonly logBytes: number | null;
}

const GIB = 2 ** 30;
/** `max_wal_size` is no hard limit: a burst, such as a restore, passes it for one checkpoint. */
const TIMES_MOST = 2;
/** A week of a healthy server's log has some MB. */
const LOG_BYTES_MAX = 2 * GIB;

function walFinding({ walBytes, walMost, walKept }: LogFiles): Finding {
  const id = "database.wal-files";
  const says = `The files of the write-ahead log take ${sizeText(walBytes)}; max_wal_size is ${sizeText(walMost)}`;
  if (walBytes <= TIMES_MOST * walMost + walKept + GIB) return ok(id, `${says}.`);
  return warning(
    id,
    `${says}, wal_keep_size ${sizeText(walKept)}.`,
    "Something retains them: they grow until the disk is full, and then PostgreSQL stops.",
    "Look for a replication slot that falls behind (pg_replication_slots), an archive_command that fails or is slow (pg_stat_archiver), and late checkpoints. Delete no file in pg_wal.",
  );
}

function serverLogFinding({ logBytes }: LogFiles): Finding {
  const id = "database.log-files";
  if (logBytes === null) return ok(id, "The server writes its log to no files of its own.");
  const says = `The files of the server's own log take ${sizeText(logBytes)}`;
  if (logBytes <= LOG_BYTES_MAX) return ok(id, `${says}.`);
  return warning(
    id,
    `${says}.`,
    "They share the database's disk, unless log_directory is elsewhere, and an error that repeats fills it.",
    "Read the newest file for what repeats, delete old ones, and set log_rotation_age, log_rotation_size and log_truncate_on_rotation.",
  );
}

/** Judges what the server's log files take. */
export function logFileFindings(files: LogFiles): readonly Finding[] {
  return [walFinding(files), serverLogFinding(files)];
}

/** Files of the write-ahead log and of the server's own log. */
export const logFiles = serverRowCheck<LogFiles>(
  "database.log-files",
  readStatement(new URL("./sql/read-log-files.sql", import.meta.url)),
  logFileFindings,
);
