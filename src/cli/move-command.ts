import pg from "pg";
import { recordAudit } from "../auth/audit.ts";
import { type MoveReport, move } from "../backup/move.ts";
import { type Config, readConfig } from "../config.ts";
import { openDatabase } from "../db/open-database.ts";
import { createLogger } from "../observe/log.ts";
import { currentUser } from "./open-for-command.ts";
import { openNamed } from "./open-named.ts";
import { stepLine } from "./progress-line.ts";
import { tableLines } from "./text-output.ts";
import { usageOf } from "./usage.ts";
import { readArgs, UsageError } from "./verb.ts";

const HELP = `bellhop move --to DATABASE_URL [--rehearsal] [--json]

Copies everything that is in the service's database (the embedded one, or DATABASE_URL's) to another, empty one, and compares
the two table by table. Cursors, change numbers and webhooks go on where they are. Stop the service first; afterwards the
former database says that it was moved, and nothing starts on it any more.

  --to URL      the database that is to be used from then on: PostgreSQL 15 or newer, empty
  --rehearsal   leave the former one in use
  --json        one JSON object on standard output
`;

const OPTIONS = {
  to: { type: "string" },
  rehearsal: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
} as const;

/** An address without its user, password and options. Throws UsageError for what is none. */
function nameOf(url: string): string {
  try {
    // A socket's directory stands among the options, which no URL of the web has.
    if (!/^postgres(ql)?:\/\//.test(url)) throw new Error("It has another scheme.");
    const { host, port, database } = new pg.Client({ connectionString: url });
    return `${host}:${port}/${database ?? ""}`;
  } catch (cause) {
    throw new UsageError("--to is the address of a database: postgresql://…", { cause });
  }
}

function describe({ tables }: MoveReport, config: Config, name: string, isRehearsal: boolean): string {
  const rows = tables.filter((table) => table.rows > 0).map((table) => [table.table, String(table.rows)]);
  const lines = [
    ...tableLines(["TABLE", "ROWS"], rows),
    "",
    `Moved to ${name}; counts and digests of all tables are equal.`,
  ];
  if (isRehearsal) lines.push("A rehearsal: go on with the former database, and drop the new one.");
  else {
    lines.push(
      "Set DATABASE_URL to the new database and start the service; all other settings stay as they are,",
    );
    lines.push(
      "KEY_ENCRYPTION_KEY above all. Nothing starts on the former one any more: remove it when you trust the new one",
    );
    lines.push(
      config.databaseUrl === undefined ? `(${config.dataDir}/postgres).` : "(it says how to go back to it).",
    );
  }
  return `${lines.join("\n")}\n`;
}

async function run(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { values } = readArgs({ args: [...args], options: OPTIONS });
  const { to } = values;
  if (to === undefined) throw new UsageError("--to is missing: the database to move to.");
  const name = nameOf(to);
  const config = readConfig(environment);
  const log = createLogger({ level: "warn", pretty: process.stderr.isTTY === true, fileDescriptor: 2 });
  // As the service: a running one is refused, and none may start meanwhile.
  const from = await openDatabase(config, log, {
    role: "service",
    poolSize: 2,
    leavesSchema: true,
    existing: true,
  });
  try {
    const target = await openNamed("--to", { ...config, databaseUrl: to }, log);
    const step = stepLine(values.json);
    try {
      const report = await move({
        ...{ from: from.clientConfig, to: target.clientConfig, toName: name, log },
        rehearsal: values.rehearsal,
        progress: step.show,
      });
      step.end();
      await recordAudit(target.pool, { who: currentUser(), what: "move", detail: { to: name } });
      const text = describe(report, config, name, values.rehearsal);
      process.stdout.write(values.json ? `${JSON.stringify({ to: name, ...report })}\n` : text);
      return 0;
    } finally {
      await target.close();
    }
  } finally {
    await from.close();
  }
}

/** `bellhop move`. */
export function moveCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  return usageOf("move", HELP, args, () => run(args, environment));
}
