import {
  flag,
  type Noun,
  type Parameter,
  parsed,
  required,
  text,
  type Verb,
  verb,
  YES,
} from "../../cli/command.ts";
import { table } from "../../cli/output.ts";
import { UsageError } from "../../platform/errors/operator-error.ts";
import { type DeletionReport, deleteData } from "../deletion/delete-property.ts";

interface Named {
  readonly clientCode: string;
  readonly propertyCode: string | null;
}

function reportLines({ properties, logRecords, rows }: DeletionReport, isDryRun: boolean): string[] {
  const counted = Object.entries(rows).map(([name, rowCount]) => [name, String(rowCount)]);
  const all = [
    ["properties", String(properties.length)],
    ["copies of records in the log", String(logRecords)],
    ...counted,
  ];
  return [
    ...table(["DATA", isDryRun ? "WOULD BE DELETED" : "DELETED"], all),
    isDryRun ? "Nothing was changed." : "Existing backups still contain this data.",
  ];
}

function remove(summary: string, details: string, what: Parameter<Named | undefined>, example: string): Verb {
  return verb({
    summary,
    details: `${details} This cannot be undone.`,
    args: { what: required(what) },
    options: {
      dryRun: flag("count what would be deleted, and change nothing"),
      reason: text("REASON", "why, for the audit log; required without --dry-run"),
      yes: YES,
    },
    examples: [`${example} --dry-run`, `${example} --reason "contract ended"`],
    json: '{"dryRun", "properties", "logRecords", "rows"}',
    check({ dryRun, reason = "" }) {
      if (!dryRun && reason.trim() === "") throw new UsageError("--reason is missing (or use --dry-run).");
    },
    confirms: ({ what: { clientCode, propertyCode }, dryRun, yes }) =>
      dryRun || yes
        ? undefined
        : `All data of ${propertyCode === null ? `the client code ${clientCode}` : `${clientCode}/${propertyCode}`} is deleted.`,
    run: ({ what: named, dryRun: isDryRun, reason = "" }, { output, session }) =>
      session.connection("delete", async (client, { who }) => {
        const report = await deleteData(client, { ...named, isDryRun, reason, who });
        output.result({ dryRun: isDryRun, ...report }, reportLines(report, isDryRun));
      }),
  });
}

const CODE = "[^/]{1,128}";

const PROPERTY = parsed("CLIENT/PROPERTY", "client code and property code", (given, name): Named => {
  const [, clientCode, propertyCode] = new RegExp(`^(${CODE})/(${CODE})$`).exec(given) ?? [];
  if (clientCode !== undefined && propertyCode !== undefined) return { clientCode, propertyCode };
  throw new UsageError(`A property must be given as ${name}, not ${JSON.stringify(given)}.`);
});

const CLIENT = parsed("CLIENTCODE", "the client code", (given, name): Named => {
  if (new RegExp(`^${CODE}$`).test(given)) return { clientCode: given, propertyCode: null };
  throw new UsageError(`${name} must be one client code, not ${JSON.stringify(given)}.`);
});

export const command: Noun = {
  verbs: {
    property: remove(
      "delete all data of a property",
      "A dry run counts the rows by table.",
      PROPERTY,
      "delete property ACME/PAR01",
    ),
    client: remove(
      "delete all data of a client code",
      "Deletes every property of the client code, its settings and status mappings, and the grants to it.",
      CLIENT,
      "delete client ACME",
    ),
  },
};
