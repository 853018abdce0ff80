import { sizeText } from "../../../cli/amounts.ts";
import { namedStatement } from "../../../platform/db/statement.ts";
import { type Check, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

/** How much write-ahead log a crash now would replay, and what bounds it; both in bytes. */
const READ_WAL = namedStatement(
  "read-wal",
  `select
    pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn)::float8 as "sinceCheckpoint",
    extract(epoch from clock_timestamp() - checkpoint_time)::float8 as "checkpointSeconds",
    (select setting::float8 * 1048576 from pg_settings where name = 'max_wal_size') as most
  from pg_control_checkpoint()`,
);

interface WriteAheadLog {
  readonly sinceCheckpoint: number;
  readonly checkpointSeconds: number;
  readonly most: number;
}

/** 28 s of recovery were measured for this much (docs/decisions/0001-embedded-postgresql.md caps it at 512 MB). */
const RECOVERED_BYTES_MAX = 4 * 2 ** 30;

/** What a crash would have to be recovered from. */
export const writeAheadLog: Check<DatabaseSubject> = {
  name: "write-ahead-log",
  async run({ database: { pool } }) {
    const id = "database.write-ahead-log";
    const { rows } = await pool.query<WriteAheadLog>(READ_WAL);
    const [found] = rows;
    if (found === undefined) throw new Error("The database does not tell of its last checkpoint.");
    const { sinceCheckpoint, most } = found;
    const says = `${sizeText(sinceCheckpoint)} of write-ahead log since the last checkpoint, max_wal_size ${sizeText(most)}`;
    if (sinceCheckpoint > 2 * most)
      return [
        trouble("warn", id, {
          says: `${says}.`,
          means:
            "Checkpoints do not come along with what is written: the disk is too slow, and a crash takes long to recover from.",
          advice: "Look at the disk's load, and at checkpoint_completion_target and max_wal_size.",
        }),
      ];
    if (most > RECOVERED_BYTES_MAX)
      return [
        trouble("warn", id, {
          says: `${says}.`,
          means: "After a crash the database may be away for half a minute and more while it recovers.",
          advice: "Lower max_wal_size to 1 GB or less, where batches should be taken again within seconds.",
        }),
      ];
    return [fine(id, `${says}.`)];
  },
};
