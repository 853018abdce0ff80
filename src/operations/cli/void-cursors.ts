import { type Noun, verb } from "../../cli/command.ts";
import { recordAudit } from "../../identity/audit.ts";
import { countPresent } from "../../platform/db/coordination.ts";
import { withTransaction } from "../../platform/db/transaction.ts";
import { OperatorError } from "../../platform/errors/operator-error.ts";
import { countText } from "../../platform/runtime/amounts.ts";
import { voidCursors } from "../backup/settle-filled.ts";

const own = verb({
  summary: "invalidate change feed cursors after a recovery by other tools",
  details:
    "Run it after a recovery by PostgreSQL's own tools, or a failover that may have lost data: every cursor handed out so far gets a 410, " +
    "and webhooks for changes are paused until they are resumed. bellhop restore does this automatically. Stop every node first.",
  examples: ["void-cursors"],
  json: '{"webhooksPaused"}',
  async database(_, { pool, who }, { output }) {
    const webhooksPaused = await withTransaction(pool, async (client) => {
      // Nodes cache the epoch of cursors and the positions of endpoints.
      if ((await countPresent(client)).size > 0)
        throw new OperatorError(
          "A node runs on this database. Stop every node first: a running one would keep writing valid cursors.",
        );
      const paused = await voidCursors(client, "recovery", "The database was recovered");
      await recordAudit(client, { who, what: "void-cursors", detail: { webhooksPaused: paused } });
      return paused;
    });
    output.result(
      { webhooksPaused },
      `Every change feed cursor is void; ${countText(webhooksPaused, "webhook")} for changes paused.`,
    );
  },
});

export const command: Noun = { own };
