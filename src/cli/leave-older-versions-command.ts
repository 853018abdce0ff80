import { recordAudit } from "../auth/audit.ts";
import { leaveOlderVersions, NEWER_CONTENT, OlderNodesPresent } from "../db/oldest-version.ts";
import { withTransaction } from "../db/transaction.ts";
import { openForCommand } from "./open-for-command.ts";
import { usageOf } from "./usage.ts";
import { JSON_OPTION, readArgs } from "./verb.ts";

const HELP = `bellhop leave-older-versions [--json]

When every node is of this version and none is to go back: what the version before cannot read may be written from now on, and
it does not start on this database any more. The stay-night ledger takes apply less work then. A database that began with this
version needs none of this.

  --json  one JSON object on standard output
`;

const { exchangesInLedger } = NEWER_CONTENT;

async function run(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { values } = readArgs({ args: [...args], options: JSON_OPTION });
  return openForCommand(environment, async ({ database: { pool }, who }) => {
    try {
      await withTransaction(pool, async (client) => {
        await leaveOlderVersions(client, exchangesInLedger);
        await recordAudit(client, { who, what: "leave-older-versions", detail: exchangesInLedger });
      });
    } catch (error) {
      if (!(error instanceof OlderNodesPresent)) throw error;
      process.stderr.write(`bellhop leave-older-versions: ${error.message}\n`);
      return 1;
    }
    const { oldest } = exchangesInLedger;
    const text = `Versions before ${oldest} do not start on this database any more. Nodes write in the new form within a minute.`;
    process.stdout.write(`${values.json ? JSON.stringify({ oldestVersion: oldest }) : text}\n`);
    return 0;
  });
}

/** `bellhop leave-older-versions`: there is no way back to them (docs/upgrades.md). Answers the exit code. */
export function leaveOlderVersionsCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  return usageOf("leave-older-versions", HELP, args, () => run(args, environment));
}
