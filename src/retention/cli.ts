import { letterOf, RESOURCES, type Resource, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { choice, flag, type Noun, parsed, required, verb } from "../cli/command.ts";
import { table } from "../cli/output.ts";
import { recordAudit } from "../identity/audit.ts";
import { roomOnDisk } from "../platform/db/disk-watch.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";
import { UsageError } from "../platform/errors/operator-error.ts";
import { letLowerPriority } from "../platform/runtime/lower-priority.ts";
import { isKnown } from "../settings/change-setting.ts";
import { checkCode } from "../settings/setting-values.ts";
import { type RetentionRun, runRetention } from "./run-retention.ts";
import {
  EVERY_CLIENT,
  listTerms,
  RETAINED,
  type Retained,
  readTerm,
  settingOfTerm,
  writeTerm,
} from "./terms.ts";

/** Stores periods of a client code (or of the default, *) by name. No figure depends on them, so the settings version does not change. */
const setTermStatement = namedStatement(
  "set-term",
  `insert into bellhop.property_setting as kept (client_code, property_code, name, value)
  select $1, null, name, $3 from unnest($2::text[]) as term (name)
  on conflict on constraint property_setting_key
    do update set value = excluded.value, changed_at = clock_timestamp() where kept.value <> excluded.value`,
);
const unsetTermStatement = namedStatement(
  "unset-term",
  `delete from bellhop.property_setting where client_code = $1 and property_code is null and name = any ($2::text[])`,
);

/** Selects a period; all resources if none is given. */
interface TermOf {
  readonly clientCode: string;
  readonly kind: Retained;
  readonly resource: Resource | undefined;
}

function namesOf({ kind, resource }: TermOf): string[] {
  const resources = resource === undefined ? RESOURCES : [resource];
  return resources.map((one) => settingOfTerm(kind, letterOf(one)));
}

/** Sets a period (milliseconds; Infinity: for ever). The caller writes the audit entry in the same transaction. */
export async function setTerm(on: Queryable, of: TermOf, ms: number): Promise<void> {
  await on.query({ ...setTermStatement, values: [of.clientCode, namesOf(of), writeTerm(ms)] });
}

/** Removes a period, so that the default applies. Returns how many there were. */
async function unsetTerm(on: Queryable, of: TermOf): Promise<number> {
  const { rowCount } = await on.query({ ...unsetTermStatement, values: [of.clientCode, namesOf(of)] });
  return rowCount ?? 0;
}

const DETAILS = `KIND is payloads (records as sent), outcomes (results of batches) or versions (versions that are no longer current).
A term for CLIENTCODE * applies to every client code without a term of its own. Current and quarantined records are kept regardless.`;

const NAMED = {
  clientCode: required(
    parsed("CLIENTCODE|*", "the client code, or * for all", (given) => {
      checkCode("client code", given);
      return given;
    }),
  ),
  kind: required(choice("KIND", RETAINED, "what is kept")),
};
const RESOURCE = { resource: choice("RESOURCE", RESOURCES, "only this resource") };

/** A shorter period is probably a mistake (12m are minutes), and deleted data is lost. */
const SHORT_MS = 86_400_000;

const whose = ({ clientCode, resource }: TermOf) =>
  `${clientCode === EVERY_CLIENT ? "every client code" : clientCode}${resource === undefined ? "" : ` (${resource})`}`;

const set = verb({
  summary: "set a retention term",
  details: `${DETAILS}\nData past its term is deleted permanently. bellhop retention run --dry-run lists what would be deleted now.`,
  args: {
    ...NAMED,
    term: required(
      parsed("TERM", "minutes, hours or days such as 90d, or forever", (given, name) => {
        const ms = readTerm(given);
        if (ms !== undefined) return { given, ms };
        throw new UsageError(
          `${name} must be minutes, hours or days such as 90d, or forever, not ${JSON.stringify(given)}.`,
        );
      }),
    ),
  },
  options: { ...RESOURCE, short: flag("allow a term of less than a day") },
  examples: ["retention set ACME payloads 90d", "retention set '*' outcomes 30d --resource inventories"],
  json: '{"clientCode", "kind", "resource", "term"}',
  check({ term: { given, ms }, short }) {
    if (ms < SHORT_MS && !short)
      throw new UsageError(
        `${given} is less than a day (m is minutes; use 365d for a year). Add --short to set it.`,
      );
  },
  async database({ clientCode, kind, resource, term: { ms } }, { pool, who }, { output }) {
    const of = { clientCode, kind, resource };
    if (clientCode !== EVERY_CLIENT && !(await isKnown(pool, { clientCode, propertyCode: null })))
      return output.failure(
        `No batch has named the client code ${JSON.stringify(clientCode)}, and no client is granted it: no term was set.`,
      );
    const term = writeTerm(ms);
    await withTransaction(pool, async (client) => {
      await setTerm(client, of, ms);
      await recordAudit(client, { who, what: "set-retention", detail: { ...of, term } });
    });
    output.result({ ...of, term }, `Term set: ${kind} of ${whose(of)}, ${term}.`);
    return 0;
  },
});

const unset = verb({
  summary: "remove a term",
  details: DETAILS,
  args: NAMED,
  options: RESOURCE,
  examples: ["retention unset ACME payloads"],
  json: '{"clientCode", "kind", "resource", "removed"}',
  async database({ clientCode, kind, resource }, { pool, who }, { output }) {
    const of = { clientCode, kind, resource };
    const removed = await withTransaction(pool, async (client) => {
      const count = await unsetTerm(client, of);
      if (count > 0) await recordAudit(client, { who, what: "unset-retention", detail: of });
      return count;
    });
    if (removed === 0)
      return output.failure(`No term is set for ${kind} of ${whose(of)} (see bellhop retention list).`);
    output.result({ ...of, removed }, "Term removed.");
    return 0;
  },
});

const list = verb({
  summary: "list terms and the start of complete data",
  details: DETAILS,
  examples: ["retention list"],
  json: '{"terms": [{"clientCode", "kind", "resource", "term"}], "horizons": [{"clientCode", "kind", "resource", "knownFrom"}]}',
  async database(_, { pool }, { output }) {
    const terms = (await listTerms(pool)).map(({ clientCode, resource, kind, ms }) => {
      return { clientCode, kind, resource: resourceOf(resource), term: writeTerm(ms) };
    });
    const { rows } = await pool.query<Record<string, string> & { letter: ResourceLetter }>(
      `select client_code as "clientCode", kind, resource as letter, to_char(known_from, 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "knownFrom"
      from bellhop.retention_horizon order by client_code, kind, resource`,
    );
    const horizons = rows.map(({ letter, ...horizon }) => ({ ...horizon, resource: resourceOf(letter) }));
    const rowsOf = (items: readonly Record<string, string>[], last: string) =>
      items.map((one) => ["clientCode", "kind", "resource", last].map((name) => one[name] ?? ""));
    const empty = "No term is set: everything is kept forever (bellhop retention set --help).";
    const heads = ["CLIENT CODE", "KIND", "RESOURCE"];
    output.result({ terms, horizons }, [
      ...table([...heads, "TERM"], rowsOf(terms, "term"), empty),
      ...(horizons.length === 0
        ? []
        : ["", ...table([...heads, "AVAILABLE FROM"], rowsOf(horizons, "knownFrom"))]),
    ]);
  },
});

const BUSY = "Another retention run, a replay or an erasure is running. Try again when it has ended.";

function runLines({ due, expired }: RetentionRun, isDryRun: boolean): string[] {
  if (due.length === 0) return ["Nothing is past its term."];
  if (isDryRun)
    return due.map(({ table: of, window, until }) => `${of}: ${window} (until ${until}) would be processed.`);
  if (expired.length === 0) return ["The windows past their term hold nothing to delete."];
  return expired.map(({ table: of, window, rows, keptRows, replaced }) =>
    replaced === null
      ? `${of}: ${window} is unchanged because it was written to meanwhile.`
      : `${of}: ${window} keeps ${keptRows} of ${rows} rows (locked ${Math.round(replaced.lockMs)} ms, ${replaced.tries} attempts).`,
  );
}

const run = verb({
  summary: "delete data past its term now",
  details: "A running service with the role apply does this every hour.",
  options: { dryRun: flag("list what would be processed, and change nothing") },
  examples: ["retention run --dry-run", "retention run"],
  json: '{"state", "due", "expired"}',
  async database({ dryRun }, { config, database, pool, who }, { output, json }) {
    let windows = 0;
    const report = await runRetention({
      clientConfig: database.clientConfig,
      dryRun,
      copying: (processId) => database.embedded && letLowerPriority(processId),
      roomBytes: () => roomOnDisk(database, config.minFreeDiskBytes),
      progress: () => {
        windows += 1;
      },
    }).finally(async () => {
      if (windows > 0) await recordAudit(pool, { who, what: "run-retention", detail: { windows } });
    });
    const { state } = report;
    if (state !== "done" && !json) return output.failure(BUSY);
    output.result(report, runLines(report, dryRun));
    return state === "done" ? 0 : 1;
  },
});

export const command: Noun = { verbs: { set, unset, list, run } };
