import { sizeText } from "../../../cli/amounts.ts";
import { isDistributed } from "../../../platform/db/distribution.ts";
import { readStatement } from "../../../platform/db/statement.ts";
import { durabilityGapsOf, readWorkers } from "../../../platform/db/workers.ts";
import { type Check, type Finding, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

const READ_SERVER = readStatement(new URL("../sql/read-server.sql", import.meta.url));

const VERSION_NUMBER_MIN = 150_000;

interface Server {
  readonly version: string;
  readonly versionNumber: number;
  readonly settings: Readonly<Record<string, string>>;
  readonly isStandby: boolean;
  readonly encoding: string;
  readonly collationMadeBy: string | null;
  readonly collationNow: string | null;
  readonly bytes: number;
  readonly isLocal: boolean;
  readonly isEncrypted: boolean;
}

function versionFinding({ version, versionNumber, bytes, encoding, isStandby }: Server): Finding {
  const id = "database.server";
  const wrong = [
    ...(versionNumber < VERSION_NUMBER_MIN ? ["is older than 15"] : []),
    ...(isStandby ? ["is a read-only standby"] : []),
    ...(encoding === "UTF8" ? [] : [`has the encoding ${encoding}`]),
  ];
  if (wrong.length === 0) return fine(id, `PostgreSQL ${version}, ${sizeText(bytes)} in this database.`);
  return trouble("fail", id, {
    says: `PostgreSQL ${version} ${wrong.join(" and ")}.`,
    means: "The service refuses to start on it.",
    advice: "Name a primary of PostgreSQL 15 or newer with a UTF-8 database in DATABASE_URL.",
  });
}

function durabilityFinding({ settings }: Server, workers: readonly string[]): Finding {
  const id = "database.durability";
  const off = [
    ...["fsync", "full_page_writes"].filter((name) => settings[name] !== "on").map((name) => `${name} = off`),
    ...workers,
  ];
  if (off.length === 0)
    return fine(
      id,
      `fsync and full_page_writes are on, commits wait for the disk (${settings["synchronous_commit"]}).`,
    );
  return trouble("fail", id, {
    says: `${off.join(", ")}.`,
    means: "A batch that was answered 202 can be lost by a crash of the machine.",
    advice: "Switch it on in postgresql.conf of that server and reload; nothing has to be started again.",
  });
}

function collationFinding({ collationMadeBy, collationNow }: Server): Finding {
  const id = "database.collation";
  if (collationMadeBy === collationNow)
    return fine(id, "Texts are sorted as they were when the database was made.");
  return trouble("warn", id, {
    says: `The system sorts texts by its rules of version ${collationNow ?? "unknown"}; the database was made with ${collationMadeBy ?? "unknown"}.`,
    means: "Indexes over texts may no longer find what is in them: an Idempotency-Key could be taken twice.",
    advice:
      "reindex database, then alter database … refresh collation version, while the service is stopped.",
  });
}

/** Settings of the server that work against the service, each with what it does. */
function settingFindings({ settings }: Server): Finding[] {
  const findings: Finding[] = [];
  const warn = (id: string, says: string, means: string, advice: string) =>
    findings.push(trouble("warn", id, { says, means, advice }));
  if (settings["track_activities"] === "off" || settings["track_counts"] === "off")
    warn(
      "database.statistics",
      "track_activities or track_counts is off.",
      "Nodes cannot see which of the others hang, and dead rows are never cleaned up.",
      "Switch both on.",
    );
  if (settings["autovacuum"] === "off")
    warn(
      "database.autovacuum",
      "autovacuum is off.",
      "Tables and their reading grow without bound.",
      "Switch it on.",
    );
  for (const name of ["idle_session_timeout", "transaction_timeout"])
    if ((settings[name] ?? "0") !== "0")
      warn(
        `database.${name.replaceAll("_", "-")}`,
        `${name} is ${settings[name]} ms.`,
        "The server ends sessions that nodes keep open: log writers, appliers and their buckets go, and come again.",
        `alter role … set ${name} = 0 for the role of the service.`,
      );
  if (settings["data_checksums"] === "off")
    warn(
      "database.checksums",
      "Data checksums are off.",
      "A disk that returns other bytes than were written is not noticed.",
      "Stop the server and run pg_checksums --enable, or take them with the next new cluster.",
    );
  return findings;
}

function transportFinding({ isLocal, isEncrypted }: Server): Finding {
  const id = "database.transport";
  if (isLocal) return fine(id, "The database is on this machine.");
  if (isEncrypted) return fine(id, "The connection to the database is encrypted.");
  return trouble("warn", id, {
    says: "The connection to the database leaves this machine readable.",
    means: "Whoever is on the network between sees guests' data and the password's exchange.",
    advice: "Add sslmode=verify-full to DATABASE_URL, unless the network itself encrypts.",
  });
}

/** What every guarantee rests on: the server's version, what it keeps on disk, how it sorts. */
export const server: Check<DatabaseSubject> = {
  name: "database.server",
  async run({ database: { pool } }) {
    const { rows } = await pool.query<Server>(READ_SERVER);
    const [found] = rows;
    if (found === undefined) throw new Error("The database does not describe itself.");
    const workers = (await isDistributed(pool)) ? (await readWorkers(pool)).flatMap(durabilityGapsOf) : [];
    return [
      versionFinding(found),
      durabilityFinding(found, workers),
      collationFinding(found),
      ...settingFindings(found),
      transportFinding(found),
    ];
  },
};
