import { recordAudit } from "../auth/audit.ts";
import { withTransaction } from "../db/transaction.ts";
import { type LabelMeaning, type LabelOf, listLabels, mapLabel, unmapLabel } from "../state/label-mapping.ts";
import { openForCommand } from "./open-for-command.ts";
import { tableLines } from "./text-output.ts";
import { JSON_OPTION, readArgs, runVerb, shellContext, UsageError, type Verb, type Verbs } from "./verb.ts";

const TEXT_CHARACTERS_MAX = 128;

/** The label of a line such as `ACME reservations "WALK IN"`. */
function readLabel(positionals: readonly string[]): LabelOf {
  const [clientCode, resource, label, ...more] = positionals;
  if (clientCode === undefined || resource === undefined || label === undefined || more.length > 0)
    throw new UsageError(
      "A client code, a resource and one label are needed (a label with spaces in quotes).",
    );
  if (resource !== "reservations" && resource !== "groups")
    throw new UsageError(
      `A resource with labels is reservations or groups, not ${JSON.stringify(resource)}.`,
    );
  for (const text of [clientCode, label]) {
    if (text === "" || text.length > TEXT_CHARACTERS_MAX)
      throw new UsageError(`Codes and labels have 1 to ${TEXT_CHARACTERS_MAX} characters.`);
  }
  return { clientCode, resource, label };
}

function rowOf({ clientCode, resource, label, records, canonical, deducts, by }: LabelMeaning): string[] {
  const meaning = by === "unmapped" ? "not mapped" : `${canonical ?? "-"} (${by})`;
  return [clientCode, resource, label, String(records), deducts ? "yes" : "no", meaning];
}

function list(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: "bellhop label list [--client CLIENTCODE] [--unmapped] [--json]",
    async run(args, { out }) {
      const options = {
        client: { type: "string" },
        unmapped: { type: "boolean", default: false },
        ...JSON_OPTION,
      } as const;
      const { values } = readArgs({ args: [...args], options });
      return openForCommand(environment, async ({ database }) => {
        const all = await listLabels(database.pool, values.client ?? null);
        const labels = values.unmapped ? all.filter(({ by }) => by === "unmapped") : all;
        if (values.json) out(JSON.stringify({ items: labels }));
        else if (labels.length === 0)
          out(values.unmapped ? "Every label has a meaning." : "No record carries a label yet.");
        else
          for (const line of tableLines(
            ["CLIENT CODE", "RESOURCE", "LABEL", "CURRENT RECORDS", "DEDUCTS", "MEANING"],
            labels.map(rowOf),
          ))
            out(line);
        return 0;
      });
    },
  };
}

function map(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: "bellhop label map CLIENTCODE reservations|groups LABEL --deducts yes|no [--json]",
    async run(args, { out }) {
      const options = { deducts: { type: "string" }, ...JSON_OPTION } as const;
      const { values, positionals } = readArgs({ args: [...args], options, allowPositionals: true });
      const of = readLabel(positionals);
      if (values.deducts !== "yes" && values.deducts !== "no")
        throw new UsageError("--deducts says yes or no: whether rooms under the label are on the books.");
      const deducts = values.deducts === "yes";
      return openForCommand(environment, async ({ database, who }) => {
        await withTransaction(database.pool, async (client) => {
          await mapLabel(client, of, deducts);
          await recordAudit(client, { who, what: "map-label", detail: { ...of, deducts } });
        });
        const meaning = deducts ? "holds inventory" : "holds no inventory";
        out(
          values.json ? JSON.stringify({ ...of, deducts }) : `${of.label} ${meaning} for ${of.clientCode}.`,
        );
        return 0;
      });
    },
  };
}

function unmap(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: "bellhop label unmap CLIENTCODE reservations|groups LABEL",
    async run(args, { out, err }) {
      const of = readLabel(readArgs({ args: [...args], options: {}, allowPositionals: true }).positionals);
      return openForCommand(environment, async ({ database, who }) => {
        const found = await withTransaction(database.pool, async (client) => {
          const removed = await unmapLabel(client, of);
          if (removed) await recordAudit(client, { who, what: "unmap-label", detail: { ...of } });
          return removed;
        });
        if (found) out(`${of.label} means for ${of.clientCode} what it means by default.`);
        else
          err(`bellhop: ${of.clientCode} has no mapping of its own for this label (see bellhop label list).`);
        return found ? 0 : 1;
      });
    },
  };
}

/** `bellhop label list|map|unmap`: what status labels mean to a client code. Answers the exit code. */
export function labelCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const verbs: Verbs = { list: list(environment), map: map(environment), unmap: unmap(environment) };
  return runVerb("label", verbs, args, shellContext(environment));
}
