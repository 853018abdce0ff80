import { TLSSocket } from "node:tls";
import type pg from "pg";
import type { Config } from "../../config.ts";
import { DELIVERY_CONNECTIONS } from "../../delivery/deliver-messages.ts";
import { QUESTION_CONNECTIONS } from "../../platform/db/connection.ts";
import { findDurabilityGaps, readWorkersOf, type WorkerDescription } from "../../platform/db/dialect.ts";
import { freeDiskBytes } from "../../platform/db/disk-watch.ts";
import { readMigrations, readUnfinished } from "../../platform/db/migrate.ts";
import { findRecords } from "../../platform/db/migration-records.ts";
import { namedStatement, readStatement } from "../../platform/db/statement.ts";
import { countText, sizeText, spanText } from "../../platform/runtime/amounts.ts";
import { WEBHOOK_CONNECTIONS } from "../../webhooks/deliver-webhooks.ts";
import {
  type Check,
  error,
  type Finding,
  findOfServers,
  ok,
  onlyRow,
  rowCheck,
  serverRowCheck,
  warning,
} from "./finding.ts";
import { logFiles } from "./log-files-check.ts";

const READ_SERVER = readStatement(new URL("./sql/read-server.sql", import.meta.url));
const READ_TRANSACTIONS = readStatement(new URL("./sql/read-transactions.sql", import.meta.url));

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
  const wrong = [
    versionNumber < VERSION_NUMBER_MIN ? "is older than 15" : [],
    isStandby ? "is a read-only standby" : [],
    encoding === "UTF8" ? [] : `has the encoding ${encoding}`,
  ].flat();
  if (wrong.length === 0)
    return ok("database.server", `PostgreSQL ${version}, ${sizeText(bytes)} in this database.`);
  return error(
    "database.server",
    `PostgreSQL ${version} ${wrong.join(" and ")}.`,
    "The service refuses to start on it.",
    "Name a primary of PostgreSQL 15 or newer with a UTF-8 database in DATABASE_URL.",
  );
}

function durabilityFinding({ settings }: Server, workers: readonly string[]): Finding {
  const id = "database.durability";
  const own = ["fsync", "full_page_writes"].filter((name) => settings[name] !== "on");
  const off = [...own.map((name) => `${name} = off`), ...workers];
  if (off.length === 0)
    return ok(
      id,
      `fsync and full_page_writes are on, commits wait for the disk (${settings["synchronous_commit"]}).`,
    );
  return error(
    id,
    `${off.join(", ")}.`,
    "A batch that was answered 202 can be lost by a crash of the machine.",
    "Enable it in postgresql.conf of that server and reload; no restart is needed.",
  );
}

function collationFinding({ collationMadeBy, collationNow }: Server): Finding {
  const id = "database.collation";
  if (collationMadeBy === collationNow)
    return ok(id, "The collation version is that of the database's creation.");
  return warning(
    id,
    `The system's collation version is ${collationNow ?? "unknown"}; the database was created with ${collationMadeBy ?? "unknown"}.`,
    "Text indexes may miss entries: an Idempotency-Key could be accepted twice.",
    "reindex database, then alter database … refresh collation version, while the service is stopped.",
  );
}

function* settingFindings({ settings }: Server): Iterable<Finding> {
  if (settings["track_activities"] === "off" || settings["track_counts"] === "off")
    yield warning(
      "database.statistics",
      "track_activities or track_counts is off.",
      "Nodes cannot detect unresponsive nodes, and dead rows are never vacuumed.",
      "Enable both.",
    );
  if (settings["autovacuum"] === "off")
    yield warning(
      "database.autovacuum",
      "autovacuum is off.",
      "Tables grow without bound, and reads slow down.",
      "Enable it.",
    );
  for (const name of ["idle_session_timeout", "transaction_timeout"])
    if ((settings[name] ?? "0") !== "0")
      yield warning(
        `database.${name.replaceAll("_", "-")}`,
        `${name} is ${settings[name]} ms.`,
        "The server ends sessions that nodes keep open, so log writers, appliers and bucket leases are lost and reopened.",
        `alter role … set ${name} = 0 for the role of the service.`,
      );
  if (settings["data_checksums"] === "off")
    yield warning(
      "database.checksums",
      "Data checksums are off.",
      "Corrupt reads from the disk are not detected.",
      "Stop the server and run pg_checksums --enable, or enable them in the next cluster.",
    );
}

function transportFinding({ isLocal, isEncrypted }: Server): Finding {
  const id = "database.transport";
  if (isLocal) return ok(id, "The database is on this machine.");
  if (isEncrypted) return ok(id, "The connection to the database is encrypted.");
  return warning(
    id,
    "The connection to the database crosses the network unencrypted.",
    "Anyone on that network can read guests' data and the password exchange.",
    "Add sslmode=verify-full to DATABASE_URL, unless the network encrypts traffic.",
  );
}

/** The server's version, durability settings and collation. */
const server: Check = {
  name: "database.server",
  run: async (subject) => {
    const gaps = await findDurabilityGaps(subject.database.pool);
    return findOfServers<Server>(subject, READ_SERVER, (rows, worker) => {
      const found = onlyRow(READ_SERVER, rows);
      const ofAll = [versionFinding(found), collationFinding(found), ...settingFindings(found)];
      // Workers' sessions are opened by the coordinator, so these checks do not apply to them.
      return worker === undefined
        ? [...ofAll, durabilityFinding(found, gaps), transportFinding(found)]
        : ofAll;
    });
  },
};

interface Rights {
  readonly role: string;
  readonly mayCreate: boolean;
  readonly seesAll: boolean;
  readonly endsAll: boolean;
  readonly foreign: number;
  readonly roles: number;
}

function ownershipFinding({ role, mayCreate, foreign }: Rights): Finding {
  const id = "rights.schema";
  if (!mayCreate)
    return error(
      id,
      `The role ${role} may not create schemas in this database.`,
      "The first start, a replay and some migrations fail.",
      `grant create on database … to ${role}.`,
    );
  if (foreign === 0) return ok(id, `The role ${role} owns the service's objects and may create schemas.`);
  return error(
    id,
    `${countText(foreign, "table or view", "tables and views")} of the service do not belong to the role ${role}.`,
    "Migrations cannot change them, and partitions cannot be created.",
    `reassign owned by … to ${role} (in this database), and start all nodes with one role.`,
  );
}

const rights = rowCheck<Rights>(
  "rights",
  readStatement(new URL("./sql/read-rights.sql", import.meta.url)),
  (found, { database }) => [
    ownershipFinding(found),
    (found.seesAll && found.endsAll) || database.embedded || found.roles < 2
      ? ok("rights.sessions", "Nodes see each other's sessions.")
      : warning(
          "rights.sessions",
          `${found.roles} roles use this database, and ${found.role} sees only its own sessions.`,
          "Nodes of one role cannot take over from an unresponsive node of another.",
          `grant pg_monitor, pg_signal_backend to ${found.role}, or start all nodes with one role.`,
        ),
  ],
);

const notVisible = (id: string, what: string, means: string) =>
  warning(id, `${what}: not visible to this role.`, means, "Make the role a member of pg_monitor.");

/**
 * The connection limit, connections in use, and those available to an ordinary role. Such a role sees only the database of other roles'
 * sessions.
 */
export const READ_CONNECTIONS = namedStatement(
  "read-connections",
  `select
    current_setting('max_connections')::integer
      - coalesce(current_setting('superuser_reserved_connections', true)::integer, 0)
      - coalesce(current_setting('reserved_connections', true)::integer, 0) as most,
    (select count(*)::integer from pg_stat_activity
      where datname is not null and coalesce(backend_type, 'client backend') = 'client backend') as used,
    (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user) as "roleMost",
    (select count(*)::integer from pg_stat_activity where usename = current_user) as "roleUsed",
    (select nullif(datconnlimit, -1) from pg_database where datname = current_database()) as "databaseMost",
    (select count(*)::integer from pg_stat_activity where datname = current_database()) as "databaseUsed"`,
);

interface Connections {
  readonly most: number;
  readonly used: number;
  readonly roleMost: number | null;
  readonly roleUsed: number;
  readonly databaseMost: number | null;
  readonly databaseUsed: number;
}

/** With fewer free connections, an operator's command may not get one. */
const FREE_CONNECTIONS_MIN = 3;

/** Maximum connections of a node with this configuration, as counted in docs/operations.md. */
export function connectionsOfNode(config: Config): number {
  const { roles, httpThreads: threads, acceptWriters, applyWriters } = config;
  const questions = roles.includes("read") ? QUESTION_CONNECTIONS * threads : 0;
  const pools = Math.max(12, 2 + threads * Math.max(3, Math.ceil(10 / threads))) + questions;
  // One more per thread: a thread that has accepted a backfill batch has a separate log writer for backfills.
  const logWriters = roles.includes("accept") ? threads * (acceptWriters + 1) : 0;
  const applying = roles.includes("apply")
    ? 4 * applyWriters + WEBHOOK_CONNECTIONS + DELIVERY_CONNECTIONS
    : 0;
  return pools + logWriters + applying + 1;
}

const CONNECTIONS_ADVICE =
  "Raise max_connections (or the limit of the role), lower HTTP_THREADS or APPLY_WRITERS, or run fewer nodes.";

/** Whether connections remain, and enough for another node. */
const connections = serverRowCheck<Connections>("connections", READ_CONNECTIONS, (found, subject, worker) => {
  const { config, database } = subject;
  const id = "database.connections";
  const bounds = [
    { what: "the server", most: found.most, used: found.used },
    { what: "the role", most: found.roleMost ?? found.most, used: found.roleUsed },
    { what: "the database", most: found.databaseMost ?? found.most, used: found.databaseUsed },
  ].map((bound) => ({ ...bound, free: bound.most - bound.used }));
  const tightest = bounds.reduce((least, bound) => (bound.free < least.free ? bound : least));
  const says = `${tightest.used} of ${tightest.most} connections of ${tightest.what} are in use`;
  const wanted = connectionsOfNode(config);
  if (tightest.free < FREE_CONNECTIONS_MIN)
    return error(
      id,
      `${says}.`,
      "A log writer or applier that has to reconnect gets no connection, so its node cannot accept or apply.",
      CONNECTIONS_ADVICE,
    );
  if (worker !== undefined) return ok(id, `${says}.`);
  // The embedded database has only one node.
  if (tightest.free >= wanted || database.embedded)
    return ok(id, `${says}; a node of these settings holds up to ${wanted}.`);
  return warning(
    id,
    `${says}; one more node of these settings wants up to ${wanted}.`,
    "An additional node, or one started before another has ended, may not get its connections.",
    CONNECTIONS_ADVICE,
  );
});

interface OpenTransaction {
  /** Null if none was found. */
  readonly who: string | null;
  readonly program: string;
  readonly role: string;
  readonly state: string;
  readonly seconds: number;
  readonly seesAll: boolean;
}

/** No transaction of the service takes this long; a replay or an analyst's query may. */
const LONG_TRANSACTION_SECONDS = 300;
/** By then the most frequently written tables have grown several times, and reads are slower. */
const TOO_LONG_TRANSACTION_SECONDS = 3_600;

/** The 5 oldest transactions open for longer than this. */
export const askOldestTransactions = (openSeconds: number) => ({
  ...READ_TRANSACTIONS,
  values: [openSeconds],
});

/** Transactions that prevent the cleanup of dead rows. */
const transactions: Check = {
  name: "transactions",
  run: (subject) =>
    findOfServers(subject, askOldestTransactions(LONG_TRANSACTION_SECONDS), transactionFinding),
};

function transactionFinding(open: readonly OpenTransaction[]): Finding {
  const id = "database.transactions";
  const oldest = onlyRow(READ_TRANSACTIONS, open.slice(0, 1));
  if (oldest.who === null)
    return oldest.seesAll
      ? ok(id, `No transaction is open for more than ${spanText(LONG_TRANSACTION_SECONDS)}.`)
      : notVisible(
          id,
          "Transactions of other roles",
          "A long transaction, which keeps dead rows from being vacuumed, is not reported.",
        );
  const { who, program, role, state, seconds } = oldest;
  return (seconds > TOO_LONG_TRANSACTION_SECONDS ? error : warning)(
    id,
    `${who} (${program} of ${role}, ${state}) has a transaction open for ${spanText(seconds)}${open.length > 1 ? ", and there are others" : ""}.`,
    "Rows that died since are not vacuumed: tables grow, and applying slows down.",
    state === "prepared"
      ? "Run commit prepared or rollback prepared; it does not end automatically."
      : "End it where it came from, or with select pg_terminate_backend(…).",
  );
}

interface Replication {
  readonly synchronousNames: string;
  readonly replicas: readonly {
    readonly name: string;
    /** Null if the role lacks the privilege to see it. */
    readonly isSynchronous: boolean | null;
    readonly lagSeconds: number | null;
    readonly lagBytes: number | null;
  }[];
  readonly slots: readonly {
    readonly name: string;
    readonly active: boolean;
    readonly status: string | null;
    readonly keptBytes: number | null;
  }[];
  readonly archivingFails: boolean;
}

const REPLICA_LAG_SECONDS_MAX = 60;
/** More WAL than the slot of an up-to-date replica ever retains. */
const KEPT_BYTES_MAX = 2 ** 30;

export function replicaFinding({ replicas, synchronousNames }: Replication): Finding {
  if (replicas.some(({ isSynchronous }) => isSynchronous === null))
    return notVisible(
      "replication.lag",
      `How far ${countText(replicas.length, "standby is", "standbys are")} behind`,
      "A standby that is far behind, or one that commits wait for but that is not connected, is not reported.",
    );
  if (synchronousNames !== "" && !replicas.some(({ isSynchronous }) => isSynchronous))
    return error(
      "replication.synchronous",
      `synchronous_standby_names is ${JSON.stringify(synchronousNames)}, but no such standby is connected.`,
      "Every commit waits for it: no batch is answered 202.",
      "Restart the standby, or remove it from synchronous_standby_names and reload.",
    );
  const late = replicas.find(({ lagSeconds }) => (lagSeconds ?? 0) > REPLICA_LAG_SECONDS_MAX);
  if (late !== undefined)
    return warning(
      "replication.lag",
      `The standby ${late.name} is ${spanText(late.lagSeconds ?? 0)} (${sizeText(late.lagBytes ?? 0)}) behind.`,
      "A failover to it would lose the data that it has not received, unless it is synchronous.",
      "Check its disk and network, and queries there that delay its recovery.",
    );
  return ok(
    "replication.lag",
    replicas.length === 0
      ? "No standby follows this server."
      : `${countText(replicas.length, "standby follows", "standbys follow")} within ${REPLICA_LAG_SECONDS_MAX} s.`,
  );
}

const replication = serverRowCheck<Replication>(
  "replication",
  readStatement(new URL("./sql/read-replication.sql", import.meta.url)),
  function* (found) {
    yield replicaFinding(found);
    for (const { name, active, status, keptBytes } of found.slots)
      if (status === "lost")
        yield warning(
          "replication.slots",
          `The replication slot ${name} has lost required WAL.`,
          "Its standby cannot continue and must be rebuilt.",
          "Drop the slot (pg_drop_replication_slot), and rebuild the standby.",
        );
      else if (!active && (keptBytes ?? 0) > KEPT_BYTES_MAX)
        yield error(
          "replication.slots",
          `The replication slot ${name} is inactive and retains ${sizeText(keptBytes ?? 0)} of WAL.`,
          "WAL accumulates until the disk is full and PostgreSQL stops.",
          "Reconnect its standby, or drop the slot (pg_drop_replication_slot).",
        );
    if (found.archivingFails)
      yield error(
        "replication.archiving",
        "The last attempt to archive WAL failed.",
        "Point-in-time recovery ends there, and WAL accumulates until the disk is full.",
        "See archive_command (or archive_library) and PostgreSQL's own log.",
      );
  },
);

/** Bytes of WAL that recovery would replay after a crash now, and their limit. */
const READ_WAL = namedStatement(
  "read-wal",
  `select
    pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn)::float8 as "sinceCheckpoint",
    (select setting::float8 * 1048576 from pg_settings where name = 'max_wal_size') as most
  from pg_control_checkpoint()`,
);

/** Recovery of this much took 28 s (docs/decisions/0001-embedded-postgresql.md caps it at 512 MB). */
const RECOVERED_BYTES_MAX = 4 * 2 ** 30;

const writeAheadLog = serverRowCheck<{ readonly sinceCheckpoint: number; readonly most: number }>(
  "write-ahead-log",
  READ_WAL,
  ({ sinceCheckpoint, most }) => {
    const id = "database.write-ahead-log";
    const says = `${sizeText(sinceCheckpoint)} of write-ahead log since the last checkpoint, max_wal_size ${sizeText(most)}.`;
    if (sinceCheckpoint > 2 * most)
      return warning(
        id,
        says,
        "Checkpoints are not keeping up with writes: the disk is too slow, and recovery after a crash takes long.",
        "Check the disk's load, checkpoint_completion_target and max_wal_size.",
      );
    if (most <= RECOVERED_BYTES_MAX) return ok(id, says);
    return warning(
      id,
      says,
      "After a crash, recovery may take more than half a minute.",
      "Lower max_wal_size to 1 GB or less if batches must be accepted again within seconds.",
    );
  },
);

/** Warn below this multiple of the floor, before anything is affected. */
const FLOORS_TO_WARN_AT = 8;

/** Disk space of the embedded database; another server's disk is not visible. */
const disk: Check = {
  name: "disk",
  run: async ({ config, database: { dataDirectory } }) => {
    const id = "disk.free";
    if (dataDirectory === undefined)
      return ok(id, "The database's disk is on another server, whose monitoring must watch it.");
    const free = await freeDiskBytes(dataDirectory);
    const floor = config.minFreeDiskBytes;
    const says = `${sizeText(free)} are free under ${dataDirectory}`;
    const advice = "Free space outside that directory: everything in it is needed. See docs/operations.md.";
    if (free >= FLOORS_TO_WARN_AT * floor) return ok(id, `${says}.`);
    if (free >= floor) {
      const means = "The log and the state grow with every batch.";
      return warning(id, `${says}; at ${sizeText(floor)} batches are refused.`, means, advice);
    }
    const means = "Batches are answered 503; below half of it, nothing is applied either.";
    return error(id, `${says}, below MIN_FREE_DISK_MIB (${sizeText(floor)}).`, means, advice);
  },
};

/** A worker with this many times the data of another is a bottleneck that rebalancing would relieve. */
const UNEVEN_TIMES = 2;
const UNEVEN_BYTES_MIN = 2 ** 30;

/** Whether the Citus workers are configured alike and share the data evenly. */
const workers: Check = {
  name: "workers",
  run: async ({ database: { pool } }) => {
    const found = await readWorkersOf(pool);
    return found === undefined ? [] : workerFindings(found);
  },
};

function* workerFindings(workers: readonly WorkerDescription[]): Iterable<Finding> {
  const answered = workers.flatMap(({ found, ...worker }) =>
    found === null ? [] : [{ ...worker, ...found }],
  );
  const shares = answered.map(
    ({ worker, shards, bytes }) => `${worker} ${countText(shards, "shard")} in ${sizeText(bytes)}`,
  );
  const versions = [...new Set(answered.map(({ version }) => version))];
  if (versions.length > 1)
    yield error(
      "workers.version",
      `Workers have the extension in the versions ${versions.join(" and ")}.`,
      "Citus refuses statements between servers of different versions.",
      "Install one version everywhere and run alter extension citus update on each.",
    );
  const unready = workers.filter(({ isReady }) => !isReady);
  if (unready.length > 0)
    yield error(
      "workers.ready",
      `${unready.map(({ worker }) => worker).join(", ")} is not active, or lacks Citus's metadata.`,
      "It cannot receive buckets, and its buckets cannot be written.",
      "Activate it on the coordinator, whose log has the reason (docs/scale.md).",
    );
  const idle = answered.filter(({ takesBuckets, shards }) => takesBuckets && shards === 0);
  if (idle.length > 0)
    yield warning(
      "workers.shares",
      `${idle.map(({ worker }) => worker).join(", ")} has no bucket.`,
      "It takes no load.",
      "Rebalance while the service runs: docs/scale.md, Add a worker.",
    );
  const sizes = answered.filter(({ shards }) => shards > 0).map(({ bytes }) => bytes);
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
  if (idle.length > 0) return;
  if (sizes.length < 2 || most < UNEVEN_BYTES_MIN || most < UNEVEN_TIMES * least)
    yield ok("workers.shares", `${countText(workers.length, "worker")}: ${shares.join(", ")}.`);
  else
    yield warning(
      "workers.shares",
      `Workers have unequal shares: ${shares.join(", ")}.`,
      "The largest fills first and is the slowest.",
      "Rebalance by size while the service runs: docs/scale.md, Add a worker.",
    );
}

const CLOCK_READINGS = 5;
const APART_SECONDS_MAX = 2;
/** Beyond a minute, webhook signatures (valid for five) and the ten-minute limit for future source times are affected. */
const FAR_APART_SECONDS = 60;

/** Database clock minus this machine's, in seconds; the error is at most half the round trip. */
async function compareClocks(pool: pg.Pool): Promise<{ readonly seconds: number; readonly wayMs: number }> {
  const askedAt = performance.now();
  const before = Date.now();
  const { rows } = await pool.query<{ now: number }>(
    "select (extract(epoch from clock_timestamp()) * 1000)::float8 as now",
  );
  const wayMs = performance.now() - askedAt;
  return { seconds: ((rows[0]?.now ?? Number.NaN) - (before + wayMs / 2)) / 1000, wayMs };
}

interface Checkpoints {
  readonly timed: number;
  readonly requested: number;
  readonly seconds: number;
  readonly maxWalMib: number;
}

const readCheckpoints = (name: string, timed: string, requested: string, view: string) =>
  namedStatement(
    name,
    `select ${timed}::float8 as timed, ${requested}::float8 as requested,
    extract(epoch from clock_timestamp() - stats_reset)::float8 as seconds,
    pg_size_bytes(current_setting('max_wal_size')) / 1048576.0::float8 as "maxWalMib"
  from ${view}`,
  );
const READ_CHECKPOINTS = readCheckpoints(
  "doctor-read-checkpoints",
  "num_timed",
  "num_requested",
  "pg_stat_checkpointer",
);
/** Before PostgreSQL 17. */
const READ_CHECKPOINTS_OLD = readCheckpoints(
  "doctor-read-checkpoints-old",
  "checkpoints_timed",
  "checkpoints_req",
  "pg_stat_bgwriter",
);
const PG_STAT_CHECKPOINTER = 170_000;
/** Fewer say nothing: backups, restores and new databases request some. */
const REQUESTED_MIN = 10;
const REQUESTED_EVERY_SECONDS = 300;

const checkpoints: Check = {
  name: "database.checkpoints",
  run: async (subject) => {
    const { rows } = await subject.database.pool.query<{ version: number }>(
      "select current_setting('server_version_num')::integer as version",
    );
    const statement =
      (rows[0]?.version ?? 0) >= PG_STAT_CHECKPOINTER ? READ_CHECKPOINTS : READ_CHECKPOINTS_OLD;
    return findOfServers<Checkpoints>(subject, statement, (found) =>
      checkpointFinding(onlyRow(statement, found)),
    );
  },
};

/** Judges how often checkpoints were made since the server's statistics were reset. */
export function checkpointFinding({ timed, requested, seconds, maxWalMib }: Checkpoints): Finding {
  const id = "database.checkpoints";
  const every = seconds / requested;
  if (requested < REQUESTED_MIN || requested < timed || every > REQUESTED_EVERY_SECONDS)
    return ok(id, `${countText(timed, "checkpoint")} by time, ${requested} by request or write-ahead log.`);
  return warning(
    id,
    `${countText(requested, "checkpoint")} by request or write-ahead log, one every ${spanText(every)}, and ${timed} by time.`,
    "Each makes the next write of every page larger, so batches take longer and the write-ahead log grows faster.",
    `Raise max_wal_size (now ${sizeText(maxWalMib * 1_048_576)}), and reload. Fewer backups at the same time help too.`,
  );
}

/** Days before its end. */
const CERTIFICATE_DAYS_WARNED = 21;
const DAY_MS = 86_400_000;

/** Judges the certificate of the database's server; `validTo` in milliseconds since 1970. */
export function certificateFinding(validTo: number, now: number): Finding {
  const id = "database.certificate";
  const days = Math.floor((validTo - now) / DAY_MS);
  const day = new Date(validTo).toISOString().slice(0, 10);
  if (days >= CERTIFICATE_DAYS_WARNED)
    return ok(id, `The certificate of the database's server is valid until ${day}.`);
  const advice =
    "Install a new certificate in the server's ssl_cert_file, and reload; open sessions stay. Renew it automatically.";
  if (validTo > now)
    return warning(
      id,
      `The certificate of the database's server ends on ${day}, in ${countText(Math.max(0, days), "day")}.`,
      "From then on, nodes whose DATABASE_URL has sslmode=verify-full cannot connect.",
      advice,
    );
  return error(
    id,
    `The certificate of the database's server ended on ${day}.`,
    "Nodes whose DATABASE_URL has sslmode=verify-full cannot connect; others connect to a server that nothing identifies.",
    advice,
  );
}

const certificate: Check = {
  name: "database.certificate",
  run: async ({ database: { pool } }) => {
    const client = await pool.connect();
    try {
      const { stream } = (client as unknown as { readonly connection: { readonly stream: unknown } })
        .connection;
      const validTo =
        stream instanceof TLSSocket ? Date.parse(stream.getPeerCertificate().valid_to) : Number.NaN;
      if (Number.isNaN(validTo))
        return ok("database.certificate", "The connection to the database uses no certificate.");
      return certificateFinding(validTo, Date.now());
    } finally {
      client.release();
    }
  },
};

/** Compares this machine's clock with the database's, which is authoritative. */
const clock: Check = {
  name: "clock",
  run: async ({ database: { pool } }) => {
    const id = "clock.difference";
    let best = await compareClocks(pool);
    for (let reading = 1; reading < CLOCK_READINGS; reading += 1) {
      const next = await compareClocks(pool);
      if (next.wayMs < best.wayMs) best = next;
    }
    const apart = Math.max(0, Math.abs(best.seconds) - best.wayMs / 2000);
    if (apart <= APART_SECONDS_MAX)
      return ok(id, `This machine's clock and the database's agree to ${spanText(apart)}.`);
    return (apart > FAR_APART_SECONDS ? error : warning)(
      id,
      `The database's clock is ${spanText(apart)} ${best.seconds > 0 ? "ahead of" : "behind"} this machine's.`,
      "One of them is wrong. Tokens, receipt times and the quarantine use the database's clock; the log and webhook times use this machine's.",
      "Compare both with a time server (timedatectl, chronyc tracking), and synchronize them by NTP.",
    );
  },
};

const migrations: Check = {
  name: "migrations",
  run: async ({ database: { pool } }) => {
    const id = "database.migrations";
    const unfinished = await readUnfinished(pool);
    if (unfinished !== undefined)
      return error(
        "database.unfinished",
        unfinished.note,
        unfinished.acceptsAfter === null
          ? "No service and no other command starts on this database."
          : "Batches are accepted, but not applied, and no other command starts on this database.",
        "Follow the message. If the database was moved, set DATABASE_URL to the new one for this command.",
      );
    const known = await readMigrations();
    const records = await findRecords(pool);
    const names = new Set(records.map(({ name }) => name));
    const newer = records.filter(({ name }) => !known.some((ours) => ours.name === name));
    const missing = known.filter(({ name }) => !names.has(name));
    if (newer.length > 0)
      return warning(
        id,
        `The database has ${countText(newer.length, "migration")} that this version does not know (the first: ${newer[0]?.name ?? ""}).`,
        "A newer version was started on it. The following findings may be incomplete.",
        "Use the newer version; docs/upgrades.md describes upgrades and rolling back.",
      );
    if (missing.length === 0)
      return ok(id, `The database has the ${known.length} migrations of this version.`);
    return warning(
      id,
      `The database lacks ${countText(missing.length, "migration")} of this version (the first: ${missing[0]?.name ?? ""}).`,
      "This version was not started on it yet. Checks that need its tables are skipped.",
      "Start the service: it migrates automatically.",
    );
  },
};

/** Checks of the server that do not depend on the database's content. */
export const SERVER_CHECKS: readonly Check[] = [
  server,
  rights,
  connections,
  transactions,
  replication,
  writeAheadLog,
  logFiles,
  checkpoints,
  certificate,
  workers,
  disk,
  clock,
  migrations,
];
