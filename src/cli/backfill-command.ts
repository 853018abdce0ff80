import type pg from "pg";
import { recordAudit } from "../auth/audit.ts";
import { type Backfill, listBackfills, requireBackfill } from "../backfill/backfill.ts";
import { type Audit, isReproduced } from "../backfill/close-backfill.ts";
import { type Gap, readGaps } from "../backfill/gaps.ts";
import { onBackfill, progressOf } from "../backfill/progress.ts";
import { abandonBackfill, BackfillRefusal, countersignBackfill } from "../backfill/sign-backfill.ts";
import { ServiceError } from "../errors/registry.ts";
import { backfillLines, gapLines, listLines } from "./backfill-output.ts";
import { openForCommand } from "./open-for-command.ts";
import {
  JSON_OPTION,
  readArgs,
  readCount,
  readOne,
  runVerb,
  shellContext,
  UsageError,
  type Verb,
  type Verbs,
} from "./verb.ts";

const GAPS_AT_ONCE = 500;

interface Opened {
  readonly pool: pg.Pool;
  readonly who: string;
  readonly audit: (of: Backfill) => Audit;
}

/** Opens the database for `work`; what is wrong with a backfill is told in a line, exit code 1. */
function withBackfills(
  environment: NodeJS.ProcessEnv,
  err: (line: string) => void,
  work: (opened: Opened) => Promise<number>,
): Promise<number> {
  return openForCommand(environment, async ({ database: { pool }, who }) => {
    const audit =
      ({ clientId }: Backfill): Audit =>
      (connection, what, detail) =>
        recordAudit(connection, { who, what, clientId, detail });
    try {
      return await work({ pool, who, audit });
    } catch (error) {
      if (!(error instanceof BackfillRefusal) && !(error instanceof ServiceError)) throw error;
      const isUnknown = error instanceof ServiceError && error.code === "bellhop.backfill.NotFound";
      err(`bellhop: ${isUnknown ? "There is no backfill of this id." : error.message}`);
      return 1;
    }
  });
}

function list(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: "bellhop backfill list [--state open|closed|abandoned] [--client ID] [--limit N] [--json]",
    async run(args, { out, err }) {
      const { values } = readArgs({
        args: [...args],
        options: {
          ...JSON_OPTION,
          state: { type: "string" },
          client: { type: "string" },
          limit: { type: "string" },
        },
      });
      const state = (["open", "closed", "abandoned"] as const).find((word) => word === values.state) ?? null;
      if (values.state !== undefined && state === null)
        throw new UsageError("--state is open, closed or abandoned.");
      const limit = readCount("limit", values.limit) ?? 100;
      return withBackfills(environment, err, async ({ pool }) => {
        const filter = { clientId: values.client ?? null, state };
        const { items, next } = await listBackfills(pool, filter, null, limit);
        if (values.json) out(JSON.stringify({ items: items.map(({ statement: _, ...told }) => told) }));
        else {
          for (const line of listLines(items)) out(line);
          if (next !== null) out(`… and more (--limit, ${limit} now).`);
        }
        return 0;
      });
    },
  };
}

/** A verb about one backfill, by its id. */
function verbOf(
  environment: NodeJS.ProcessEnv,
  usage: string,
  run: (
    opened: Opened & { readonly backfill: Backfill; readonly json: boolean; out(line: string): void },
    option: Readonly<Record<string, string | undefined>>,
  ) => Promise<number>,
  options: readonly string[] = [],
): Verb {
  return {
    usage,
    async run(args, { out, err }) {
      const own = Object.fromEntries(options.map((name) => [name, { type: "string" }] as const));
      const { values, positionals } = readArgs({
        args: [...args],
        options: { ...JSON_OPTION, ...own },
        allowPositionals: true,
      });
      const backfillId = readOne("backfill's id", positionals);
      return withBackfills(environment, err, async (opened) => {
        const backfill = await requireBackfill(opened.pool, backfillId, null);
        const told = values as Readonly<Record<string, string | boolean | undefined>>;
        const given = Object.fromEntries(options.map((name) => [name, told[name] as string | undefined]));
        return run({ ...opened, backfill, json: values.json === true, out }, given);
      });
    },
  };
}

function show(environment: NodeJS.ProcessEnv): Verb {
  return verbOf(environment, "bellhop backfill show ID [--json]", async ({ pool, backfill, json, out }) => {
    const progress = await progressOf(pool, backfill);
    const reproduced = backfill.state === "closed" ? await isReproduced(pool, backfill) : null;
    if (json) {
      const { statement, ...told } = backfill;
      const { backfill: _, recordsRead: __, ...sums } = progress;
      out(JSON.stringify({ ...told, ...sums, statement: JSON.parse(statement ?? "null"), reproduced }));
    } else for (const line of backfillLines(progress, reproduced)) out(line);
    return reproduced === false ? 1 : 0;
  });
}

function gaps(environment: NodeJS.ProcessEnv): Verb {
  return verbOf(environment, "bellhop backfill gaps ID [--json]", async ({ pool, backfill, json, out }) => {
    await onBackfill(pool, backfill, async ({ client, asked, tally }) => {
      const found: Gap[] = [];
      let position: Awaited<ReturnType<typeof readGaps>>["next"] = null;
      do {
        const page: Awaited<ReturnType<typeof readGaps>> = await readGaps(
          client,
          asked,
          tally,
          position,
          GAPS_AT_ONCE,
        );
        // One a line, as there may be many.
        if (json) for (const gap of page.items) out(JSON.stringify(gap));
        else found.push(...page.items);
        position = page.next;
      } while (position !== null);
      if (!json) for (const line of gapLines(found)) out(line);
    });
    return 0;
  });
}

function sign(environment: NodeJS.ProcessEnv): Verb {
  const usage = "bellhop backfill sign ID --hash SHA256 [--json]";
  return verbOf(
    environment,
    usage,
    async ({ pool, backfill, who, audit, json, out }, { hash }) => {
      if (hash === undefined)
        throw new UsageError(
          "--hash is missing: the hash of the statement that you have read (backfill show).",
        );
      const signed = await countersignBackfill(pool, backfill, hash, who, audit(backfill));
      out(
        json
          ? JSON.stringify({ signatures: signed.signatures })
          : "Signed: both sides stand by this statement.",
      );
      return 0;
    },
    ["hash"],
  );
}

function abandon(environment: NodeJS.ProcessEnv): Verb {
  return verbOf(
    environment,
    "bellhop backfill abandon ID [--why TEXT] [--json]",
    async ({ pool, backfill, who, audit, json, out }, { why }) => {
      const ended = await abandonBackfill(pool, backfill, why ?? null, who, audit(backfill));
      out(
        json
          ? JSON.stringify({ state: ended.state, endedAt: ended.endedAt })
          : "Abandoned; what it brought stays.",
      );
      return 0;
    },
    ["why"],
  );
}

/** `bellhop backfill list|show|gaps|sign|abandon`: cold starts as sessions (docs/backfill.md). Answers the exit code. */
export function backfillCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const verbs: Verbs = {
    list: list(environment),
    show: show(environment),
    gaps: gaps(environment),
    sign: sign(environment),
    abandon: abandon(environment),
  };
  return runVerb("backfill", verbs, args, shellContext(environment));
}
