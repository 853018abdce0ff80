import { readFile } from "node:fs/promises";
import type pg from "pg";
import { derivationAdvice } from "../../apply/ledger/derivation.ts";
import { VERSION_WINDOWS } from "../../apply/state/write-versions.ts";
import { type Config, SANDBOX_CLIENT_CODE } from "../../config.ts";
import { createMailTransport } from "../../delivery/mail-transport.ts";
import { type KeySummary, listKeys, readSecretState, type SecretState } from "../../identity/key-admin.ts";
import { listPeppers, type PepperSummary } from "../../identity/pepper-admin.ts";
import { BUCKET_COUNT, microsecondsOf } from "../../ingest/log/part-name.ts";
import { ACCEPT_LOG, REQUEST_OUTCOME } from "../../ingest/log/partitions.ts";
import { listPayloadKeys, type PayloadKeySummary } from "../../ingest/log/payload-keys.ts";
import { openLagReader } from "../../insight/console/intake.ts";
import {
  AuthSetupError,
  createSecretCipher,
  type SecretCipher,
} from "../../platform/crypto/secret-cipher.ts";
import { countPresent, countUnownedBuckets, type Presence } from "../../platform/db/coordination.ts";
import { readMigrations } from "../../platform/db/migrate.ts";
import { findRecords } from "../../platform/db/migration-records.ts";
import { namedStatement, readStatement } from "../../platform/db/statement.ts";
import { readWindows, type TimeWindow, type WindowedTable } from "../../platform/db/time-windows.ts";
import { countText, sizeText, spanText } from "../../platform/runtime/amounts.ts";
import { findOverdue } from "../../retention/run-retention.ts";
import {
  type Check,
  error,
  type Finding,
  ok,
  onlyRow,
  problemsOr,
  rowCheck,
  serverRowCheck,
  warning,
} from "./finding.ts";
import { addresses, timeZones } from "./installation-checks.ts";

const READ_WEBHOOKS = readStatement(new URL("./sql/read-webhooks.sql", import.meta.url));
const READ_LEFTOVERS = readStatement(new URL("./sql/read-leftovers.sql", import.meta.url));
const READ_TABLES = readStatement(new URL("./sql/read-tables.sql", import.meta.url));
const DAY_MS = 86_400_000;

interface Tables {
  readonly dead: readonly { table: string; dead: number; live: number; cleaned: string }[];
  readonly age: number;
  readonly freezeAge: number;
}

/** Fewer dead rows do not slow reads; autovacuum starts at 50 and a fifth of the table. */
const DEAD_ROWS_MIN = 100_000;
/** PostgreSQL refuses writes at two billion. */
const AGE_MAX = 1_500_000_000;

function ageFinding({ age, freezeAge }: Tables): Finding {
  const says = `The oldest row is ${Math.round(age / 1e6)} million transactions old`;
  if (age < 1.5 * freezeAge) return ok("tables.age", `${says}, of 2,000 million.`);
  return (age > AGE_MAX ? error : warning)(
    "tables.age",
    `${says}; forced autovacuum begins at ${Math.round(freezeAge / 1e6)} million and is not keeping up.`,
    "At 2,000 million the database stops accepting writes.",
    "End old transactions and unused replication slots (see those findings), then vacuum (freeze) the database.",
  );
}

/** Dead rows, and the distance to transaction id wraparound. */
const tables = serverRowCheck<Tables>("tables", { ...READ_TABLES, values: [DEAD_ROWS_MIN] }, (found) => {
  const dead = found.dead.map((of) =>
    warning(
      "tables.dead-rows",
      `${of.table} has ${of.dead} dead and ${of.live} live rows, last vacuumed: ${of.cleaned}.`,
      "The table takes more space and time than necessary.",
      `See the finding database.transactions, then vacuum (analyze) ${of.table}.`,
    ),
  );
  return [...problemsOr(ok("tables.dead-rows", "Dead rows are vacuumed."), dead), ageFinding(found)];
});

const SCHEMA = new URL("../../../sql/schema.sql", import.meta.url);

/** Of the given indexes, those that are missing and those that PostgreSQL does not use because their creation failed. */
const READ_INDEXES = namedStatement(
  "read-indexes",
  `select
    coalesce(array_agg(wanted.name) filter (where pg_index.indexrelid is null), '{}') as missing,
    coalesce(array_agg(wanted.name) filter (where not pg_index.indisvalid), '{}') as invalid
  from unnest($1::text[]) as wanted (name)
  left join pg_index on pg_index.indexrelid = to_regclass(wanted.name)`,
);

/** The names of the indexes of this version's schema. */
async function indexesOfSchema(): Promise<string[]> {
  const text = await readFile(SCHEMA, "utf8");
  return [...text.matchAll(/^CREATE (?:UNIQUE )?INDEX (\w+) ON (?:ONLY )?(\w+)\./gm)].map(
    ([, index = "", schema = ""]) => `${schema}.${index}`,
  );
}

/** Whether every index of the schema exists and is used. A database of another version has others. */
const indexes: Check = {
  name: "tables",
  run: async ({ database: { pool } }) => {
    const id = "tables.indexes";
    const [known, records] = [await readMigrations(), await findRecords(pool)];
    if (records.length !== known.length) return [];
    const names = await indexesOfSchema();
    const { rows } = await pool.query<{ missing: string[]; invalid: string[] }>({
      ...READ_INDEXES,
      values: [names],
    });
    const { missing, invalid } = rows[0] ?? { missing: [], invalid: [] };
    if (missing.length + invalid.length === 0)
      return ok(id, `All ${names.length} indexes of the schema exist.`);
    const lost = [
      ...missing.map((name) => `${name} is missing`),
      ...invalid.map((name) => `${name} is invalid`),
    ];
    return warning(
      id,
      `${countText(lost.length, "index", "indexes")} cannot be used: ${lost.slice(0, INDEXES_NAMED_MAX).join(", ")}.`,
      "Statements that need it read whole tables, and become slower as the tables grow.",
      "Run its create index statement of sql/schema.sql; drop an invalid one first, or use reindex index.",
    );
  },
};

const INDEXES_NAMED_MAX = 5;

function partitionFinding({ schema, table }: WindowedTable, windows: readonly TimeWindow[]): Finding[] {
  const last = windows.at(-1);
  if (last === undefined) return [];
  const id = "partitions.ahead";
  const now = Date.now();
  const counted = `${schema}.${table} has ${countText(windows.length, "partition")}`;
  const ends = `ends in ${spanText((last.toMs - now) / 1000)}`;
  if (last.fromMs > now) return [ok(id, `${counted}, the last one ${ends}.`)];
  return [
    (last.toMs > now ? warning : error)(
      id,
      `${counted}, and the last one ${last.toMs > now ? ends : "has ended"}.`,
      "Later batches cannot be stored: they would be answered 503.",
      "A running service creates partitions in advance every hour: see its log for why it does not (permissions, locks).",
    ),
  ];
}

const partitions: Check = {
  name: "partitions",
  run: async ({ database: { pool } }) => {
    const findings: Finding[] = [];
    for (const table of [ACCEPT_LOG, REQUEST_OUTCOME, ...VERSION_WINDOWS])
      findings.push(...partitionFinding(table, await readWindows(pool, table)));
    return findings;
  },
};

/** Without a rotation schedule: how long a stolen copy may stay useful. */
const KEY_DAYS_MAX = 120;
/** Running nodes rotate within a day; a later key is not rotated automatically. */
const LATE_DAYS = 3;

function activeKeyFinding(keys: readonly KeySummary[], rotationDays: number): Finding {
  const id = "keys.active";
  const active = keys.find(({ state }) => state === "active");
  if (active === undefined)
    return keys.length === 0
      ? warning(id, "There is no signing key yet.", "The first start creates one.", "Start the service.")
      : error(
          id,
          "No signing key is active.",
          "No token can be issued.",
          "bellhop key rotate; if the database's clock was set back, fix that first.",
        );
  const days = Math.floor((Date.now() - active.createdAt.getTime()) / DAY_MS);
  const count = (state: KeySummary["state"]) => keys.filter((key) => key.state === state).length;
  const says = `The signing key is ${countText(days, "day")} old; ${count("announced")} announced, ${count("retiring")} retiring`;
  if (days <= (rotationDays === 0 ? KEY_DAYS_MAX : rotationDays + LATE_DAYS)) return ok(id, `${says}.`);
  return warning(
    id,
    `${says}${rotationDays === 0 ? "" : `, and due after ${rotationDays}`}.`,
    "A stolen copy can sign tokens until the key is replaced.",
    "bellhop key rotate, which invalidates no tokens. A running service rotates automatically: see SIGNING_KEY_ROTATION_DAYS and its log.",
  );
}

function decrypts(cipher: SecretCipher, bound: string, encrypted: string): boolean {
  try {
    cipher.decrypt(bound, encrypted);
    return true;
  } catch (cause) {
    if (!(cause instanceof AuthSetupError)) throw cause;
    return false;
  }
}

function encryptionFinding(
  { keyEncryptionKey }: Config,
  cipher: SecretCipher,
  { values, behind }: SecretState,
): Finding {
  const id = "keys.encryption";
  const shut = behind.filter(({ bound, encrypted }) => !decrypts(cipher, bound, encrypted));
  const secrets = countText(values, "secret");
  const lie = countText(values, "secret is", "secrets are");
  if (shut.length > 0)
    return error(
      id,
      `${shut.length} of ${secrets} cannot be decrypted with KEY_ENCRYPTION_KEY (the first: ${shut[0]?.bound}).`,
      "The service does not start, or cannot use these signing keys, peppers, webhook secrets or payloads.",
      "Set KEY_ENCRYPTION_KEY to the key of this installation, or add the previous key to KEY_ENCRYPTION_KEY_PREVIOUS.",
    );
  if (keyEncryptionKey === undefined)
    return ok(id, `${lie} stored unencrypted because KEY_ENCRYPTION_KEY is not set.`);
  if (behind.length === 0) return ok(id, `${lie} encrypted under KEY_ENCRYPTION_KEY.`);
  return warning(
    id,
    `${behind.length} of ${secrets} ${behind.length === 1 ? "is" : "are"} encrypted under a previous key, or not at all.`,
    "Anyone with that key and a copy of the database can read them; unencrypted ones need no key.",
    "bellhop key reseal (every start of the service does it, too); rotate secrets that may have been read.",
  );
}

const keys: Check = {
  name: "keys",
  run: async ({ config, database: { pool } }) => {
    const cipher = createSecretCipher(config.keyEncryptionKey, config.keyEncryptionKeysPrevious);
    return [
      activeKeyFinding(await listKeys({ internals: { pool } }), config.signingKeyRotationDays),
      encryptionFinding(config, cipher, await readSecretState(pool, cipher)),
    ];
  },
};

function pepperFinding(peppers: readonly PepperSummary[]): Finding {
  const id = "secrets.pepper";
  const former = peppers.find(({ isCurrent }) => !isCurrent);
  if (former === undefined) return ok(id, "Client secrets are hashed with one pepper.");
  return warning(
    id,
    `Two peppers are valid; ${countText(former.secrets, "secret depends", "secrets depend")} on the previous one.`,
    "The rotation is incomplete: a leaked previous pepper still endangers those secrets.",
    former.secrets === 0
      ? "bellhop pepper retire."
      : "Wait until these secrets are used, or rotate them (bellhop pepper status --json lists them); then bellhop pepper retire.",
  );
}

function payloadFinding(
  { encryptPayloads, payloadKeyRotationDays: days }: Config,
  payloadKeys: readonly PayloadKeySummary[],
): Finding {
  const id = "secrets.payloads";
  const current = payloadKeys.find(({ retiredAt }) => retiredAt === null);
  if (!encryptPayloads && current === undefined) return ok(id, "Batches are stored unencrypted.");
  if (!encryptPayloads)
    return warning(
      id,
      "A payload key exists, but ENCRYPT_PAYLOADS is off here.",
      "A node with these settings stores new batches unencrypted.",
      "Set ENCRYPT_PAYLOADS=yes on every node, unless it is off deliberately.",
    );
  if (current === undefined)
    return warning(
      id,
      "ENCRYPT_PAYLOADS is on, but no payload key exists yet.",
      "Batches are stored unencrypted until one exists.",
      "Start the service. It creates a key once every running node has KEY_ENCRYPTION_KEY, and logs the nodes that lack it.",
    );
  const age = Math.floor((Date.now() - current.createdAt.getTime()) / DAY_MS);
  const says = `Batches are encrypted under a payload key of ${countText(age, "day")}`;
  if (days === 0 || age <= days + LATE_DAYS) return ok(id, `${says}.`);
  return warning(
    id,
    `${says}, due after ${days}.`,
    "No running node replaces it.",
    "bellhop payload-key rotate, and check the log of the service.",
  );
}

const secrets: Check = {
  name: "secrets",
  run: async ({ config, database: { pool } }) => [
    payloadFinding(config, await listPayloadKeys(pool)),
    pepperFinding(await listPeppers(pool)),
  ],
};

const LAG_SECONDS_MAX = 30;
const LONG_LAG_SECONDS = 300;

function nodeFinding(present: ReadonlyMap<Presence, number>): Finding {
  const id = "nodes.present";
  const count = (role: Presence) => present.get(role) ?? 0;
  const says = `${countText(count("accept"), "node accepts", "nodes accept")}, ${countText(count("read"), "reads", "read")}, ${countText(count("apply"), "thread applies", "threads apply")}`;
  const missing = (["accept", "apply", "read"] as const).filter((role) => count(role) === 0);
  if (missing.length === 0) return ok(id, `${says}.`);
  if (missing.length === 3)
    return warning(
      id,
      "No node is running on this database.",
      "No batch is accepted or applied, and no query answered.",
      "Start the service (npm start), or check its supervisor.",
    );
  return error(
    id,
    `${says}: no node has the role ${missing.join(" or ")}.`,
    "Accepted batches are not applied, or partners get 404 or 503.",
    `Start a node with --role ${missing.join(",")}.`,
  );
}

function bucketFinding(unowned: number, appliers: number): Finding {
  const id = "buckets.owned";
  if (unowned === 0) return ok(id, `All ${BUCKET_COUNT} buckets have an owner.`);
  const says = `${unowned} of ${BUCKET_COUNT} buckets have no owner`;
  if (appliers === 0) return ok(id, `${says}: no node applies.`);
  return warning(
    id,
    `${says} although ${countText(appliers, "thread applies", "threads apply")}.`,
    "Batches for their properties are not applied. This is normal for two seconds after a node starts or stops.",
    "Check again in ten seconds; if it persists, see the logs of the nodes that apply.",
  );
}

async function lagFinding(pool: pg.Pool, appliers: number): Promise<Finding> {
  const id = "apply.lag";
  const { lag } = await (await openLagReader(pool)).read();
  if (lag.waiting === 0) return ok(id, "All accepted batches are applied.");
  const says = `${countText(lag.waiting, "part")} of batches ${lag.waiting === 1 ? "is" : "are"} not applied yet, the oldest for ${spanText(lag.seconds)}.`;
  if (lag.seconds <= LAG_SECONDS_MAX) return ok(id, says);
  return (lag.seconds > LONG_LAG_SECONDS && appliers > 0 ? error : warning)(
    id,
    says,
    "Queries return older data than was sent; nothing is lost.",
    appliers === 0
      ? "Start a node that applies."
      : "If bellhop_apply_failures_total grows, see the log for the failure. Otherwise batches arrive faster than they are applied: add nodes that apply.",
  );
}

const appliers: Check = {
  name: "appliers",
  run: async ({ database: { pool } }) => {
    const present = await countPresent(pool);
    const applying = present.get("apply") ?? 0;
    return [
      nodeFinding(present),
      bucketFinding(await countUnownedBuckets(pool), applying),
      await lagFinding(pool, applying),
    ];
  },
};

/** A few nodes with 64 threads; each log writer costs appliers an index scan per bucket and read. */
const LOG_WRITERS_MAX = 500;

/** The log writers that appliers still read. */
const logWriters = rowCheck<{ readonly read: number; readonly abandoned: number }>(
  "log-writers",
  readStatement(new URL("./sql/count-log-writers.sql", import.meta.url)),
  ({ read, abandoned }) => {
    const says = `${countText(read, "log writer is", "log writers are")} read, ${abandoned} of them abandoned.`;
    if (read <= LOG_WRITERS_MAX) return ok("log-writers.read", says);
    return warning(
      "log-writers.read",
      says,
      "Each slows the reads of all appliers. Closed ones are removed once they are fully applied.",
      "Find out why nodes lose their connections (bellhop_log_writer_failures_total, their logs), and see the finding apply.lag.",
    );
  },
);

/** Quarantined records by reason, with the oldest of each; counts at most $1 records. */
const READ_QUARANTINED = namedStatement(
  "read-quarantined",
  `select code, count(*)::integer as count, min(request_id::text) as oldest
  from (
    select code, request_id from bellhop.quarantine where state = 'q' order by request_id limit $1
  ) as quarantined
  group by code
  order by 2 desc, code`,
);
const COUNTED_MAX = 10_000;

const quarantine: Check = {
  name: "quarantine",
  run: async ({ database: { pool } }) => {
    const id = "quarantine.records";
    const { rows } = await pool.query<{ code: string; count: number; oldest: string }>({
      ...READ_QUARANTINED,
      values: [COUNTED_MAX],
    });
    const total = rows.reduce((sum, { count }) => sum + count, 0);
    if (total === 0) return ok(id, "No record is quarantined.");
    const oldest = Math.min(...rows.map((row) => microsecondsOf(row.oldest)));
    const reasons = rows.map(({ code, count }) => `${count} ${code}`).join(", ");
    const counted =
      total === COUNTED_MAX ? `At least ${total} records are` : countText(total, "record is", "records are");
    return warning(
      id,
      `${counted} quarantined (${reasons}), the oldest for ${spanText(Date.now() / 1000 - oldest / 1e6)}.`,
      "No figure includes them until an operator releases them; their partners were notified.",
      "bellhop quarantine list, then release or discard each; docs/operations.md says which when.",
    );
  },
};

/** Erasures, those unfinished after an hour, and those in no list: neither exported since, nor imported with one. */
const COUNT_ERASURES = namedStatement(
  "count-erasures",
  `select count(*)::integer as all,
    (count(*) filter (where finished_at is null and started_at < clock_timestamp() - interval '1 hour'))::integer as unfinished,
    (count(*) filter (where started_at > coalesce(exported.at, '-infinity') and not exists (
      select from bellhop.audit_entry where what = 'apply-erasure-list' and coalesce(lists, detail)::jsonb->'erasureIds' ? erasure_id::text
    )))::integer as unexported
  from bellhop.erasure
  cross join (
    select max(occurred_at) as at from bellhop.audit_entry where what = 'export-erasures'
  ) as exported`,
);

const erasures = rowCheck<{ readonly all: number; readonly unfinished: number; readonly unexported: number }>(
  "erasures",
  COUNT_ERASURES,
  ({ all, unfinished, unexported }) => [
    unfinished === 0
      ? ok("erasures.finished", `${countText(all, "erasure", "erasures")}, none of them interrupted.`)
      : warning(
          "erasures.finished",
          `${countText(unfinished, "erasure is", "erasures are")} unfinished for more than an hour.`,
          "Personal data of erased guests may remain, and responses to webhooks with records are not stored meanwhile.",
          "bellhop erasure list, then bellhop erasure resume ERASURE_ID.",
        ),
    unexported === 0
      ? ok("erasures.exported", "All erasures are exported.")
      : warning(
          "erasures.exported",
          `${countText(unexported, "erasure is", "erasures are")} not exported.`,
          "Backups do not contain the erasure list: a restore without it would bring these guests back.",
          "bellhop erasure export FILE, and keep the file apart from backups.",
        ),
  ],
);

/** A service runs retention at least hourly (run-retention.ts), and waits while other work has locked the log. */
const RETENTION_GRACE_MS = 3 * 3_600_000;

const retention: Check = {
  name: "retention",
  run: async ({ database: { pool } }) => {
    const { isAnyTerm, windows, unopened } = await findOverdue(pool, RETENTION_GRACE_MS);
    const id = "retention.expired";
    if (!isAnyTerm) return ok(id, "No term is set: everything is kept forever.");
    const [oldest] = windows.toSorted((left, right) => left.until.localeCompare(right.until));
    const parts =
      oldest === undefined
        ? []
        : [
            `${countText(windows.length, "window has", "windows have")} expired data; the oldest (${oldest.window}) ends at ${oldest.until}`,
          ];
    if (unopened.length > 0) parts.push(`${unopened.join(", ")} has no windows yet`);
    if (parts.length === 0) return ok(id, "Expired data is deleted.");
    return warning(
      id,
      `${parts.join("; ")}.`,
      "Expired data is still stored and takes disk space.",
      "bellhop retention run, and find out why no service does it: no node applies, batches of that time are not applied, or a backup, replay or erasure does not end.",
    );
  },
};

/** Partners' senders can be asked to resend about a week of batches. */
const BACKUP_SECONDS_MAX = 7 * 86_400;

interface Backups {
  readonly takenSeconds: number | null;
  readonly madeSeconds: number | null;
  readonly archivedSeconds: number | null;
}

const backups = rowCheck<Backups>(
  "backups",
  /**
   * Ages in seconds: of the last backup since this database was restored (null: none), of the database's creation or restore, and of the
   * server's last archived WAL file (null: archiving is off).
   */
  namedStatement(
    "read-backups",
    `select
    extract(epoch from clock_timestamp() - (
      select occurred_at from bellhop.audit_entry
      where what = 'backup' and audit_id > coalesce((select max(audit_id) from bellhop.audit_entry where what = 'restore'), 0)
      order by audit_id desc limit 1
    ))::float8 as "takenSeconds",
    extract(epoch from clock_timestamp() - (select min(applied_at) from bellhop_migration.applied))::float8 as "madeSeconds",
    case when current_setting('archive_mode') <> 'off'
      then (select extract(epoch from clock_timestamp() - last_archived_time)::float8 from pg_stat_archiver)
    end as "archivedSeconds"`,
  ),
  ({ takenSeconds, madeSeconds, archivedSeconds }) => {
    const id = "backups.taken";
    if (archivedSeconds !== null && archivedSeconds < BACKUP_SECONDS_MAX)
      return ok(id, `The server archives its write-ahead log, last ${spanText(archivedSeconds)} ago.`);
    const says =
      takenSeconds === null
        ? `No backup has been taken since this database was created ${spanText(madeSeconds ?? 0)} ago.`
        : `The last backup was taken ${spanText(takenSeconds)} ago.`;
    if ((takenSeconds ?? madeSeconds ?? 0) < BACKUP_SECONDS_MAX) return ok(id, says);
    return warning(
      id,
      says,
      "If the database is lost, all batches accepted since are lost.",
      "Run bellhop backup every night to another machine and a restore drill every month (docs/backup.md). Backups by other tools are not detected.",
    );
  },
);

/** Deliveries are attempted within a second of being due. */
const LATE_SECONDS_MAX = 300;

interface Webhooks {
  readonly endpoints: number;
  readonly paused: number;
  readonly failing: number;
  readonly dead: number;
  readonly lateSeconds: number | null;
}

function* webhookTroubles({ endpoints, paused, failing, dead, lateSeconds }: Webhooks): Iterable<Finding> {
  if (paused + failing > 0)
    yield warning(
      "webhooks.receivers",
      `Of ${countText(endpoints, "endpoint")}, ${countText(paused, "is", "are")} paused and ${countText(failing, "has", "have")} failed for more than an hour.`,
      "Their partners are not notified. Messages wait, or are dropped according to docs/webhooks.md.",
      "bellhop webhook list shows which and why. Contact the partner, then bellhop webhook resume.",
    );
  if (dead > 0)
    yield warning(
      "webhooks.dead-letters",
      `${countText(dead, "message was", "messages were")} given up.`,
      "They are not sent again automatically.",
      "List them with bellhop webhook dead-letters; once the receiver works, queue them again with bellhop webhook redrive.",
    );
  if ((lateSeconds ?? 0) > LATE_SECONDS_MAX)
    yield warning(
      "webhooks.delivery",
      `The oldest message was due ${spanText(lateSeconds ?? 0)} ago.`,
      "No node delivers webhooks. Nodes with the role apply deliver them.",
      "Start one, or check its log.",
    );
}

const webhooks = rowCheck<Webhooks>("webhooks", { ...READ_WEBHOOKS, values: [COUNTED_MAX] }, (found) => {
  const fine = `${countText(found.endpoints, "endpoint")}, none paused or failing.`;
  return problemsOr(ok("webhooks.receivers", fine), webhookTroubles(found));
});

const DELIVERIES = namedStatement(
  "read-subscription-messages",
  `select count(*) filter (where state = 'failed' and settled_at > clock_timestamp() - interval '7 days')::integer as failed,
    count(*) filter (where state = 'waiting')::integer as waiting,
    extract(epoch from clock_timestamp() - min(next_try_at) filter (where state = 'waiting'))::float8 as "lateSeconds"
  from bellhop.subscription_message`,
);

interface Deliveries {
  readonly failed: number;
  readonly waiting: number;
  readonly lateSeconds: number | null;
}

function* deliveryTroubles({ failed, lateSeconds }: Deliveries): Iterable<Finding> {
  if (failed > 0)
    yield warning(
      "deliveries.failed",
      `${countText(failed, "report or alert", "reports and alerts")} of the last 7 days failed.`,
      "Operators did not get them.",
      "bellhop subscription messages --state failed says why.",
    );
  if ((lateSeconds ?? 0) > LATE_SECONDS_MAX)
    yield warning(
      "deliveries.late",
      `The oldest report or alert was due ${spanText(lateSeconds ?? 0)} ago.`,
      "No node sends them. Nodes with the role apply do.",
      "Start one, or check its log.",
    );
}

const deliveries: Check = {
  name: "deliveries",
  async run({ config, database }) {
    const found = onlyRow(DELIVERIES, (await database.pool.query<Deliveries>(DELIVERIES)).rows);
    const says = `${countText(found.waiting, "report or alert waits", "reports and alerts wait")}; none failed or is late.`;
    return [
      ...problemsOr(ok("deliveries.failed", says), deliveryTroubles(found)),
      ...(config.mail === undefined ? [] : [await mailServerFinding(config.mail)]),
    ];
  },
};

/** Connects and logs in; sends nothing. */
async function mailServerFinding(mail: NonNullable<Config["mail"]>): Promise<Finding> {
  const id = "deliveries.mail-server";
  const transport = createMailTransport(mail);
  try {
    await transport.verify();
    return ok(id, "The mail server accepts the connection and the login.");
  } catch (cause) {
    return warning(
      id,
      `The mail server of SMTP_URL cannot be used: ${cause instanceof Error ? cause.message : "it does not answer"}`,
      "Reports and alerts wait, and fail after a day.",
      "Check the address, user and password, and whether this machine may connect to it (docs/delivery.md).",
    );
  } finally {
    transport.close();
  }
}

/** A cold start takes hours, for a large group days. */
const BACKFILL_DAYS_MAX = 7;

interface Leftovers {
  readonly openBackfills: number;
  readonly schemas: readonly { schema: string; bytes: number }[];
  readonly sandboxes: number;
}

const LEFTOVERS = { ...READ_LEFTOVERS, values: [BACKFILL_DAYS_MAX, SANDBOX_CLIENT_CODE] };

function* leftoverTroubles(
  { schemas, openBackfills, sandboxes }: Leftovers,
  { sandbox }: Config,
): Iterable<Finding> {
  for (const { schema, bytes } of schemas)
    yield warning(
      "leftovers.schemas",
      `The schema ${schema} (${sizeText(bytes)}) remains of a replay.`,
      "Nothing reads it, unless a replay is running.",
      `drop schema ${schema} cascade, once it is no longer needed.`,
    );
  if (openBackfills > 0)
    yield warning(
      "leftovers.backfills",
      `${countText(openBackfills, "backfill is", "backfills are")} open for more than ${BACKFILL_DAYS_MAX} days.`,
      "An open backfill holds back the watermark of its property.",
      "bellhop backfill list --state open; ask the partner to close it, or bellhop backfill abandon.",
    );
  if (sandboxes > 0 && !sandbox)
    yield error(
      "leftovers.sandbox",
      "The sandbox client of a development start can still push.",
      "Its secret was printed to a terminal.",
      "bellhop client list, then bellhop client revoke it.",
    );
}

const leftovers = rowCheck<Leftovers>("leftovers", LEFTOVERS, (found, { config }) =>
  problemsOr(
    ok("leftovers", "No leftovers of replays, backfills or the sandbox."),
    leftoverTroubles(found, config),
  ),
);

const derivation: Check = {
  name: "ledger",
  run: async ({ database: { pool } }) => {
    const advice = await derivationAdvice(pool);
    if (advice === undefined) return ok("ledger.derivation", "Figures follow the rules of this version.");
    return warning(
      "ledger.derivation",
      advice,
      "Figures of earlier and later records are counted by different rules (docs/figures.md).",
      "bellhop replay --swap. If retention has deleted payloads, the earlier figures stay as they are.",
    );
  },
};

/** Checks of Bellhop's tables, which require this version's migrations. */
export const SCHEMA_CHECKS: readonly Check[] = [
  tables,
  indexes,
  partitions,
  keys,
  secrets,
  appliers,
  addresses,
  timeZones,
  derivation,
  logWriters,
  quarantine,
  erasures,
  retention,
  backups,
  webhooks,
  deliveries,
  leftovers,
];
