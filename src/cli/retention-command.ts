import { recordAudit } from "../auth/audit.ts";
import { letterOf, resourceOf } from "../contract/resource.ts";
import { isDistributed } from "../db/distribution.ts";
import { withTransaction } from "../db/transaction.ts";
import { type RetentionRun, runRetention } from "../retention/windows/run-retention.ts";
import { setTerm, type TermOf, unsetTerm } from "../retention/windows/set-term.ts";
import {
  EVERY_CLIENT,
  listTerms,
  RETAINED,
  type Retained,
  readTerm,
  writeTerm,
} from "../retention/windows/terms.ts";
import { checkCode, SettingInputError } from "../settings/setting-values.ts";
import { letGiveWay } from "../threads/give-way.ts";
import { openForCommand } from "./open-for-command.ts";
import { tableLines } from "./text-output.ts";
import {
  readArgs,
  runVerb,
  shellContext,
  UsageError,
  type Verb,
  type VerbContext,
  type Verbs,
} from "./verb.ts";

const RESOURCES = ["inventories", "reservations", "groups"] as const;
const JSON_OPTION = { json: { type: "boolean", default: false } } as const;
const TERM_OPTIONS = { resource: { type: "string" }, ...JSON_OPTION } as const;

const WHAT = `KIND is what is kept: payloads (records as they were sent), outcomes (what became of batches), versions (those that
are no longer current). TERM is minutes, hours or days (90d), or forever, which is the default. CLIENTCODE * stands for every
client code that has no term of its own. What is current, or held in quarantine, is kept whatever the terms say.`;

function kindOf(text: string | undefined): Retained {
  const kind = RETAINED.find((one) => one === text);
  if (kind === undefined) throw new UsageError(`What is kept is one of ${RETAINED.join(", ")}.`);
  return kind;
}

function termOf(
  clientCode: string | undefined,
  kind: string | undefined,
  resource: string | undefined,
): TermOf {
  if (clientCode === undefined) throw new UsageError("A client code, or *, is needed.");
  try {
    checkCode("client code", clientCode);
  } catch (error) {
    if (!(error instanceof SettingInputError)) throw error;
    throw new UsageError(error.message, { cause: error });
  }
  const known = RESOURCES.find((one) => one === resource);
  if (resource !== undefined && known === undefined)
    throw new UsageError(`--resource is one of ${RESOURCES.join(", ")}.`);
  return { clientCode, kind: kindOf(kind), resource: known === undefined ? undefined : letterOf(known) };
}

const whoseText = ({ clientCode, resource }: TermOf) =>
  `${clientCode === EVERY_CLIENT ? "every client code" : clientCode}${resource === undefined ? "" : ` (${resourceOf(resource)})`}`;

/** What is shorter is a slip rather than a wish: 12m are minutes, and what they take cannot be had again. */
const LEAST_MS = 86_400_000;

function set(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: `bellhop retention set CLIENTCODE KIND TERM [--resource inventories|reservations|groups] [--short] [--json]\n\n${WHAT}
A term of less than a day is taken with --short only. What is past its term goes for good, and nobody is asked again: bellhop
retention run --dry-run says what would go now.`,
    async run(args, { out, err }) {
      const { values, positionals } = readArgs({
        args: [...args],
        options: { ...TERM_OPTIONS, short: { type: "boolean", default: false } },
        allowPositionals: true,
      });
      const [clientCode, kind, text = "", ...more] = positionals;
      const of = termOf(clientCode, kind, values.resource);
      const ms = readTerm(text);
      if (ms === undefined || more.length > 0)
        throw new UsageError(
          `A term is minutes, hours or days such as 90d, or forever, not ${JSON.stringify(text)}.`,
        );
      if (ms < LEAST_MS && !values.short)
        throw new UsageError(
          `${text} is less than a day (m are minutes; twelve months are 365d). Say --short if that is meant.`,
        );
      return openForCommand(environment, async ({ database, who }) => {
        // A term that nobody heeds would be a promise that is not kept.
        if (ms !== Number.POSITIVE_INFINITY && (await isDistributed(database.pool))) {
          err("bellhop: on Citus nothing is taken out yet, so no term can be set there (docs/retention.md).");
          return 1;
        }
        await withTransaction(database.pool, async (client) => {
          await setTerm(client, of, ms);
          await recordAudit(client, { who, what: "set-retention", detail: { ...of, term: writeTerm(ms) } });
        });
        if (values.json) out(JSON.stringify({ ...of, term: writeTerm(ms) }));
        else out(`The ${of.kind} of ${whoseText(of)} are kept for ${writeTerm(ms)}.`);
        return 0;
      });
    },
  };
}

function unset(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: "bellhop retention unset CLIENTCODE KIND [--resource inventories|reservations|groups] [--json]",
    async run(args, { out, err }) {
      const { values, positionals } = readArgs({
        args: [...args],
        options: TERM_OPTIONS,
        allowPositionals: true,
      });
      const [clientCode, kind, ...more] = positionals;
      if (more.length > 0) throw new UsageError("A client code and one kind are needed.");
      const of = termOf(clientCode, kind, values.resource);
      return openForCommand(environment, async ({ database, who }) => {
        const removed = await withTransaction(database.pool, async (client) => {
          const count = await unsetTerm(client, of);
          if (count > 0) await recordAudit(client, { who, what: "unset-retention", detail: { ...of } });
          return count;
        });
        if (removed === 0) {
          err(`bellhop: no term of the ${of.kind} of ${whoseText(of)} is set (see bellhop retention list).`);
          return 1;
        }
        out(values.json ? JSON.stringify({ ...of, removed }) : `The term is taken back.`);
        return 0;
      });
    },
  };
}

function list(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: `bellhop retention list [--json]\n\nThe terms that are set, and from when on what is known of whom.\n\n${WHAT}`,
    async run(args, { out }) {
      const { json } = readArgs({ args: [...args], options: JSON_OPTION }).values;
      return openForCommand(environment, async ({ database }) => {
        const terms = (await listTerms(database.pool)).map(({ clientCode, resource, kind, ms }) => ({
          ...{ clientCode, kind, resource: resourceOf(resource), term: writeTerm(ms) },
        }));
        const { rows: horizons } = await database.pool.query<Record<string, string>>(
          `select client_code as "clientCode", kind, resource, to_char(known_from, 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "knownFrom"
          from bellhop.retention_horizon order by client_code, kind, resource`,
        );
        if (json) out(JSON.stringify({ terms, horizons }));
        else if (terms.length === 0)
          out("No term is set: everything is kept for ever (bellhop retention set --help).");
        else {
          const rows = terms.map(({ clientCode, kind, resource, term }) => [
            clientCode,
            kind,
            resource,
            term,
          ]);
          for (const line of tableLines(["CLIENT CODE", "KIND", "RESOURCE", "TERM"], rows)) out(line);
        }
        if (!json && horizons.length > 0) {
          out("");
          const rows = horizons.map((one) => [
            ...[one["clientCode"] ?? "", one["kind"] ?? "", one["resource"] ?? "", one["knownFrom"] ?? ""],
          ]);
          for (const line of tableLines(["CLIENT CODE", "KIND", "RESOURCE", "KNOWN FROM"], rows)) out(line);
        }
        return 0;
      });
    },
  };
}

const STATES: Readonly<Record<RetentionRun["state"], string>> = {
  done: "",
  busy: "Another run, a replay or an erasure is under way: try again when it is over.",
  distributed: "On Citus windows cannot be replaced yet: nothing was done.",
};

function run(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: `bellhop retention run [--dry-run] [--json]

Takes out what is past its term now; a service that applies does so by itself, hourly.`,
    async run(args, { out, err }) {
      const options = { "dry-run": { type: "boolean", default: false }, ...JSON_OPTION } as const;
      const { values } = readArgs({ args: [...args], options });
      return openForCommand(environment, async ({ database, who }) => {
        const dryRun = values["dry-run"];
        const report = await runRetention({
          ...{ clientConfig: database.clientConfig, dryRun },
          copying: (processId) => database.embedded && letGiveWay(processId),
        });
        if (report.expired.length > 0)
          await recordAudit(database.pool, {
            ...{ who, what: "run-retention" },
            detail: { windows: report.expired.length },
          });
        if (values.json) out(JSON.stringify(report));
        else if (report.state !== "done") err(`bellhop: ${STATES[report.state]}`);
        else if (report.due.length === 0) out("Nothing is past its term.");
        else if (dryRun)
          for (const { table, window, until } of report.due)
            out(`${table}: ${window}, which ends at ${until}, would be gone through.`);
        else if (report.expired.length === 0)
          out("There was nothing in the windows that are past their term.");
        else
          for (const { table, window, rows, keptRows, replaced } of report.expired)
            out(
              replaced === null
                ? `${table}: ${window} was left as it is, as it was written to meanwhile.`
                : `${table}: of ${window} ${keptRows} of ${rows} rows are left (${Math.round(replaced.lockMs)} ms, ${replaced.tries} tries).`,
            );
        return report.state === "done" ? 0 : 1;
      });
    },
  };
}

/** `bellhop retention set|unset|list|run`: how long what is kept, and for whom. Answers the exit code. */
export function retentionCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  context: VerbContext = shellContext(environment),
): Promise<number> {
  const verbs: Verbs = {
    set: set(environment),
    unset: unset(environment),
    list: list(environment),
    run: run(environment),
  };
  return runVerb("retention", verbs, args, context);
}
