import { countText, sizeText, spanText } from "../../../cli/amounts.ts";
import { readStatement } from "../../../platform/db/statement.ts";
import { type Check, type Finding, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

const READ_REPLICATION = readStatement(new URL("../sql/read-replication.sql", import.meta.url));

interface Replica {
  readonly name: string;
  readonly state: string | null;
  readonly isSynchronous: boolean;
  readonly lagSeconds: number | null;
  readonly lagBytes: number | null;
}

interface Slot {
  readonly name: string;
  readonly active: boolean;
  readonly status: string | null;
  readonly keptBytes: number | null;
}

interface Replication {
  readonly synchronousNames: string;
  readonly replicas: readonly Replica[];
  readonly slots: readonly Slot[];
  readonly archivingFails: boolean;
}

const LAG_SECONDS_MAX = 60;
/** More write-ahead log than a slot of a follower that comes along ever holds back. */
const KEPT_BYTES_MAX = 2 ** 30;

function replicaFindings({ replicas, synchronousNames }: Replication): Finding[] {
  if (synchronousNames !== "" && !replicas.some(({ isSynchronous }) => isSynchronous))
    return [
      trouble("fail", "replication.synchronous", {
        says: `synchronous_standby_names is ${JSON.stringify(synchronousNames)}, and no such standby is connected.`,
        means: "Every commit waits for it: no batch is answered 202.",
        advice: "Bring the standby back, or take it out of synchronous_standby_names and reload.",
      }),
    ];
  const late = replicas.find(({ lagSeconds }) => (lagSeconds ?? 0) > LAG_SECONDS_MAX);
  if (late === undefined) {
    const says =
      replicas.length === 0
        ? "No standby follows this server."
        : `${countText(replicas.length, "standby follows", "standbys follow")} within ${LAG_SECONDS_MAX} s.`;
    return [fine("replication.lag", says)];
  }
  return [
    trouble("warn", "replication.lag", {
      says: `The standby ${late.name} is ${spanText(late.lagSeconds ?? 0)} (${sizeText(late.lagBytes ?? 0)}) behind.`,
      means: "A fail-over to it now would lose what it has not got, unless it is synchronous.",
      advice: "Look at its disk and network, and at queries there that hold its recovery up.",
    }),
  ];
}

function slotFindings({ slots }: Replication): Finding[] {
  return slots
    .filter(
      ({ active, status, keptBytes }) => status === "lost" || (!active && (keptBytes ?? 0) > KEPT_BYTES_MAX),
    )
    .map(({ name, status, keptBytes }) =>
      status === "lost"
        ? trouble("warn", "replication.slots", {
            says: `The replication slot ${name} has lost its write-ahead log.`,
            means: "Its follower cannot go on and has to be made again.",
            advice: "Drop the slot (pg_drop_replication_slot), and make the follower again.",
          })
        : trouble("fail", "replication.slots", {
            says: `The replication slot ${name} is not used and holds back ${sizeText(keptBytes ?? 0)} of write-ahead log.`,
            means: "It grows until the disk is full, and PostgreSQL stops.",
            advice: "Bring its follower back, or drop the slot (pg_drop_replication_slot).",
          }),
    );
}

/** Standbys, replication slots and the archiver. */
export const replication: Check<DatabaseSubject> = {
  name: "replication",
  async run({ database: { pool } }) {
    const { rows } = await pool.query<Replication>(READ_REPLICATION);
    const [found] = rows;
    if (found === undefined) throw new Error("The database does not tell who follows it.");
    const findings = [...replicaFindings(found), ...slotFindings(found)];
    if (found.archivingFails)
      findings.push(
        trouble("fail", "replication.archiving", {
          says: "The last try to archive write-ahead log failed.",
          means:
            "There is no point-in-time recovery beyond that, and the log piles up until the disk is full.",
          advice: "See archive_command (or archive_library) and PostgreSQL's own log.",
        }),
      );
    return findings;
  },
};
