import pg from "pg";
import { count, flag, type Noun, parsed, required, verb } from "../../cli/command.ts";
import { table } from "../../cli/output.ts";
import type { Config } from "../../config.ts";
import { recordAudit } from "../../identity/audit.ts";
import { BUCKET_COUNT } from "../../ingest/log/part-name.ts";
import { UsageError } from "../../platform/errors/operator-error.ts";
import { type MoveReport, move } from "../backup/move.ts";

/** A connection URL without user, password and options. Throws UsageError. */
function addressName(url: string, option: string): string {
  try {
    // URL cannot parse a socket directory among the options.
    if (!/^postgres(ql)?:\/\//.test(url)) throw new Error("It has another scheme.");
    const { host, port, database } = new pg.Client({ connectionString: url });
    return `${host}:${port}/${database ?? ""}`;
  } catch (cause) {
    throw new UsageError(
      `${option} must be the address of a database, such as postgresql://user@host/name.`,
      { cause },
    );
  }
}

function reportLines({ tables }: MoveReport, config: Config, name: string, isRehearsal: boolean): string[] {
  const rows = tables.filter((one) => one.rows > 0).map((one) => [one.table, String(one.rows)]);
  const former =
    config.databaseUrl === undefined ? `${config.dataDir}/postgres` : "its error says how to go back";
  const next = isRehearsal
    ? [
        "Rehearsal: continue with the previous database. No service starts on the copy; drop it, or let the move replace it.",
      ]
    : [
        "Set DATABASE_URL to the new database and start the service. Keep all other settings, KEY_ENCRYPTION_KEY above all.",
        `No service starts on the previous database any more. Remove it once you trust the new one (${former}).`,
      ];
  return [
    ...table(["TABLE", "ROWS"], rows),
    "",
    `Moved to ${name}; row counts and digests of all tables are equal.`,
    ...next,
  ];
}

const own = verb({
  summary: "move all data to another database",
  details:
    "Copies everything from the service's database (embedded or DATABASE_URL) to an empty one and compares the two table by table. " +
    "Cursors, change numbers and webhooks continue. Stop the service first. With --accept-early it may run until the command asks to stop it, and " +
    "seconds later nodes with ROLE=accept may start on the new database, before its log and state are copied.",
  options: {
    to: required(
      parsed("DATABASE_URL", "the new database: PostgreSQL 15 or newer, empty", (url, name) => ({
        url,
        name: addressName(url, name),
      })),
    ),
    rehearsal: flag("copy and compare only: the previous database stays in use"),
    acceptEarly: flag("let nodes accept in the new database before everything is copied"),
    shards: count("the new database is a Citus coordinator: distribute the tables over N shards", {
      least: 1,
      most: BUCKET_COUNT,
    }),
  },
  examples: [
    "move --to postgresql://bellhop@db.internal/bellhop --rehearsal",
    "move --to postgresql://bellhop@db.internal/bellhop",
    "move --to postgresql://bellhop@coordinator.internal/bellhop --shards 32 --accept-early",
  ],
  json: '{"to", "tables": [{"table", "rows"}], ...}',
  run: ({ to, rehearsal, acceptEarly, shards }, { output, progress, session }) => {
    if (rehearsal && acceptEarly)
      throw new UsageError(
        "--rehearsal leaves the previous database in use: --accept-early cannot be given with it.",
      );
    return session.asService(true, ({ config, database: from, log, who }) =>
      session.named("--to", to.url, async (target) => {
        const report = await move({
          from: from.clientConfig,
          to: target.database.clientConfig,
          toName: to.name,
          log,
          rehearsal,
          shards,
          acceptEarly,
          say: (line) => output.message(line),
          onStep: progress.show,
        });
        await recordAudit(target.pool, { who, what: "move", detail: { to: to.name } });
        output.result({ to: to.name, ...report }, reportLines(report, config, to.name, rehearsal));
      }),
    );
  },
});

export const command: Noun = { own };
