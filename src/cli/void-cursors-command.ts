import { recordAudit } from "../auth/audit.ts";
import { voidWhatWasTold } from "../backup/settle-filled.ts";
import { countPresent } from "../db/presence.ts";
import { withTransaction } from "../db/transaction.ts";
import { countText } from "../doctor/amounts.ts";
import { openForCommand } from "./open-for-command.ts";
import { usageOf } from "./usage.ts";
import { JSON_OPTION, readArgs } from "./verb.ts";

const HELP = `bellhop void-cursors [--json]

After a recovery by PostgreSQL's own tools, or a failover that may have lost something: every cursor of the change feed that was
handed out is answered 410 from now on, and webhooks that tell of changes are paused until somebody resumes them. A
restore (bellhop restore) does it by itself. Stop every node first.

  --json  one JSON object on standard output
`;

/** Nodes remember the epoch that they write cursors in, and where endpoints stand. */
const RUNNING =
  "A node runs on this database: stop every node first, or cursors of before would be written on.";

async function run(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { values } = readArgs({ args: [...args], options: JSON_OPTION });
  return openForCommand(environment, async ({ database: { pool }, who }) => {
    const paused = await withTransaction(pool, async (client) => {
      if ((await countPresent(client)).size > 0) return undefined;
      const count = await voidWhatWasTold(client, "recovery", "The database was recovered");
      await recordAudit(client, { who, what: "void-cursors", detail: { webhooksPaused: count } });
      return count;
    });
    if (paused === undefined) {
      process.stderr.write(`bellhop void-cursors: ${RUNNING}\n`);
      return 1;
    }
    const text = `Every cursor of the change feed is void, and ${countText(paused, "webhook")} that told of changes paused.`;
    process.stdout.write(`${values.json ? JSON.stringify({ webhooksPaused: paused }) : text}\n`);
    return 0;
  });
}

/** `bellhop void-cursors`: what restoring a backup does to the feed, where the restore was not Bellhop's. Answers the exit code. */
export function voidCursorsCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  return usageOf("void-cursors", HELP, args, () => run(args, environment));
}
