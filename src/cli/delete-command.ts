import pg from "pg";
import { WorkUnderWay } from "../db/exclusive-work.ts";
import { type DeletionReport, deleteData } from "../retention/deletion/delete-property.ts";
import { DeletionError } from "../retention/deletion/deletion-error.ts";
import { openForCommand } from "./open-for-command.ts";
import { tableLines } from "./text-output.ts";
import {
  readArgs,
  readOne,
  runVerb,
  shellContext,
  UsageError,
  type Verb,
  type VerbContext,
  type Verbs,
} from "./verb.ts";

const OPTIONS = {
  "dry-run": { type: "boolean", default: false },
  reason: { type: "string" },
  json: { type: "boolean", default: false },
} as const;

interface Named {
  readonly clientCode: string;
  readonly propertyCode: string | null;
}

function describe({ properties, logRecords, rows }: DeletionReport, isDryRun: boolean): string[] {
  const counted = Object.entries(rows).map(([table, count]) => [table, String(count)]);
  return [
    ...tableLines(
      ["WHAT", isDryRun ? "WOULD GO" : "GONE"],
      [
        ["properties", String(properties.length)],
        ["copies of records in the log", String(logRecords)],
        ...counted,
      ],
    ),
    isDryRun ? "Nothing was changed." : "Backups made before still have it all.",
  ];
}

function remove(
  environment: NodeJS.ProcessEnv,
  what: string,
  usage: string,
  read: (text: string) => Named | undefined,
): Verb {
  return {
    usage,
    run(args, { out, err }) {
      const line = readArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
      const text = readOne(what, line.positionals);
      const named = read(text);
      if (named === undefined) throw new UsageError(`${what} is needed, not ${JSON.stringify(text)}.`);
      const { "dry-run": isDryRun, reason = "", json } = line.values;
      if (!isDryRun && reason.trim() === "") throw new UsageError("--reason is missing (or say --dry-run).");
      return openForCommand(environment, async ({ database, who }) => {
        const client = new pg.Client({ ...database.clientConfig, application_name: "bellhop delete" });
        client.on("error", () => undefined);
        await client.connect();
        try {
          const report = await deleteData(client, { ...named, isDryRun, reason, who });
          if (json) out(JSON.stringify({ dryRun: isDryRun, ...report }));
          else for (const text of describe(report, isDryRun)) out(text);
          return 0;
        } catch (error) {
          if (!(error instanceof DeletionError) && !(error instanceof WorkUnderWay)) throw error;
          err(`bellhop: ${error.message}`);
          return 1;
        } finally {
          await client.end();
        }
      });
    },
  };
}

const CODE = "[^/]{1,128}";

/** `bellhop delete property|client`: all that is kept of a hotel, or of a hotel group (docs/privacy.md). Answers the exit code. */
export function deleteCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  context: VerbContext = shellContext(environment),
): Promise<number> {
  const verbs: Verbs = {
    property: remove(
      environment,
      "A property as CLIENT/PROPERTY",
      `bellhop delete property CLIENT/PROPERTY (--dry-run | --reason REASON) [--json]

Deletes all that is kept of a property, and cannot be undone. A dry run counts what would go, table by table.`,
      (text) => {
        const [, clientCode, propertyCode] = new RegExp(`^(${CODE})/(${CODE})$`).exec(text) ?? [];
        return clientCode === undefined || propertyCode === undefined
          ? undefined
          : { clientCode, propertyCode };
      },
    ),
    client: remove(
      environment,
      "A client code",
      `bellhop delete client CLIENTCODE (--dry-run | --reason REASON) [--json]

Deletes all that is kept of every property of a client code, its settings, the meaning of its labels, and the grants to it.`,
      (text) => (new RegExp(`^${CODE}$`).test(text) ? { clientCode: text, propertyCode: null } : undefined),
    ),
  };
  return runVerb("delete", verbs, args, context);
}
