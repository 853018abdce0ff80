import type pg from "pg";
import { choice, count, type Noun, required, text, verb, withDefault } from "../cli/command.ts";
import { type Field, fields, moment, table } from "../cli/output.ts";
import type { Session } from "../cli/session.ts";
import type { BackfillGap } from "../console/answers.ts";
import { OperatorError } from "../platform/errors/operator-error.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import type { Position } from "../platform/http/position.ts";
import { type Backfill, listBackfills, requireBackfill } from "./backfill.ts";
import { abandonBackfill, countersignBackfill, isReproduced } from "./close-backfill.ts";
import { readGaps } from "./gaps.ts";
import { onBackfill, type Progress, progressOf, type ResourceProgress } from "./progress.ts";

const GAPS_AT_ONCE = 500;
const ID = { id: required(text("ID", "the backfill's id (bellhop backfill list)")) };
const EXAMPLE_ID = "01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11";

interface Opened {
  readonly pool: pg.Pool;
  readonly who: string;
  readonly backfill: Backfill;
}

/** Opens the database and finds the backfill; a ServiceError is a failure of the command. */
async function withBackfill<Result>(session: Session, id: string, work: (opened: Opened) => Promise<Result>) {
  try {
    return await session.database(async ({ pool, who }) =>
      work({ pool, who, backfill: await requireBackfill(pool, id, null) }),
    );
  } catch (cause) {
    if (!(cause instanceof ServiceError)) throw cause;
    const isUnknown = cause.code === "bellhop.backfill.NotFound";
    const message = isUnknown ? `No backfill has the id ${JSON.stringify(id)}.` : cause.message;
    throw new OperatorError(message, { cause });
  }
}

const list = verb({
  summary: "list backfills",
  options: {
    state: choice("STATE", ["open", "closed", "abandoned"], "only in this state"),
    client: text("CLIENT_ID", "only of this client"),
    limit: withDefault(count("backfills listed"), 100),
  },
  examples: ["backfill list --state open"],
  json: '{"items": [{"backfillId", "state", "clientId", "manifest", "openedAt", "endedAt", "signatures", ...}]}',
  run: ({ state, client, limit }, { output, session }) =>
    session.database(async ({ pool }) => {
      const filter = { clientId: client ?? null, state: state ?? null };
      const { items, next } = await listBackfills(pool, filter, null, limit);
      const rows = items.map((one) => [
        one.backfillId,
        one.state,
        `${one.manifest.clientCode}/${one.manifest.propertyCode}`,
        one.clientId,
        moment(one.openedAt),
        moment(one.endedAt),
        one.signatures.map(({ side }) => side).join("+") || "-",
      ]);
      const heads = ["BACKFILL", "STATE", "PROPERTY", "CLIENT", "OPENED", "ENDED", "SIGNED"];
      const rest = next === null ? [] : [`There are more than ${limit}: raise --limit.`];
      const lines = [...table(heads, rows, "No backfills."), ...rest];
      output.result({ items: items.map(({ statement: _, ...own }) => own) }, lines);
    }),
});

/** The columns of counts, by their names. */
const COUNTED = [
  "records",
  "applied",
  "unchanged",
  "stale",
  "duplicate",
  "quarantined",
  "discarded",
  "rejected",
  "pending",
] as const;
const HEADINGS = ["RESOURCE", "DATES", "EXPECTED", "DISTINCT", "COVERED", "BATCHES"];

function resourceRow(of: ResourceProgress): string[] {
  const { resource, from, to, datesNamed, datesCovered, expectedRecords, distinctRecords, batches } = of;
  const covered = datesNamed === null ? "-" : `${datesCovered} of ${datesNamed}`;
  const counts = COUNTED.map((name) => of.counts[name]);
  const expected = expectedRecords ?? "-";
  return [resource, `${from} to ${to}`, expected, distinctRecords, covered, batches, ...counts].map(String);
}

function progressLines(progress: Progress, reproduced: boolean | null): string[] {
  const { backfill, resources, waitingBatches, oldestWaitingAt, lateBatches } = progress;
  const { manifest, statementHash, signatures, abandonedBy, abandonedWhy } = backfill;
  const only = (isShown: boolean, name: string, value: string): Field[] => (isShown ? [[name, value]] : []);
  const waiting = `${waitingBatches} batches since ${moment(oldestWaitingAt)}`;
  const same = reproduced ? "yes: the log gives the same statement" : "NO: the log gives another statement";
  return [
    ...fields([
      ["backfill", backfill.backfillId],
      ["state", backfill.state],
      ["property", `${manifest.clientCode}/${manifest.propertyCode}`],
      ["client", backfill.clientId],
      ["opened", moment(backfill.openedAt)],
      ["ended", moment(backfill.endedAt)],
      ...only(manifest.note !== null, "note", manifest.note ?? ""),
      ["waiting", waitingBatches === 0 ? "nothing" : waiting],
      ...only(lateBatches > 0, "late", `${lateBatches} batches arrived after the statement`),
      ...only(abandonedBy !== null, "abandoned", `${abandonedBy}: ${abandonedWhy ?? "no reason given"}`),
      ...only(statementHash !== null, "statement", statementHash ?? ""),
      ...only(reproduced !== null, "reproduced", same),
      ...signatures.map(
        ({ side, signedBy, signedAt }): Field => [`signed (${side})`, `${signedBy}, ${moment(signedAt)}`],
      ),
    ]),
    "",
    ...table([...HEADINGS, ...COUNTED.map((name) => name.toUpperCase())], resources.map(resourceRow)),
  ];
}

const show = verb({
  summary: "show progress, statement and signatures of a backfill",
  args: ID,
  examples: [`backfill show ${EXAMPLE_ID}`],
  json: '{"backfillId", "state", "manifest", "signatures", "resources", "statement", "reproduced", ...}',
  exitCodes: "0, or 1 if the log no longer gives the signed statement.",
  run: ({ id }, { output, session }) =>
    withBackfill(session, id, async ({ pool, backfill }) => {
      const progress = await progressOf(pool, backfill);
      const reproduced = backfill.state === "closed" ? await isReproduced(pool, backfill) : null;
      const { statement, ...own } = backfill;
      const { backfill: _, recordsRead: __, ...sums } = progress;
      const data = { ...own, ...sums, statement: JSON.parse(statement ?? "null"), reproduced };
      output.result(data, progressLines(progress, reproduced));
      return reproduced === false ? 1 : 0;
    }),
});

function gapRow(gap: BackfillGap): string[] {
  if (gap.kind === "records-short")
    return [gap.resource, "short", `${gap.missing} of ${gap.expected} expected records are missing`, "", ""];
  if (gap.kind === "date-missing") return [gap.resource, "date", gap.date, "", ""];
  const what = `${gap.outcome}${gap.mended ? ", fixed since" : ""}`;
  return [gap.resource, what, gap.key ?? "-", `${gap.requestId} ${gap.index}`, gap.message ?? gap.code ?? ""];
}

const gaps = verb({
  summary: "list what is missing from a backfill",
  args: ID,
  examples: [`backfill gaps ${EXAMPLE_ID}`],
  json: "one JSON object per line for each gap",
  run: ({ id }, { output, session, json }) =>
    withBackfill(session, id, ({ pool, backfill }) =>
      onBackfill(pool, backfill, async ({ client, asked, tally }) => {
        const found: BackfillGap[] = [];
        for (let position: Position | null | undefined; position !== null; ) {
          const page = await readGaps(client, asked, tally, position ?? null, GAPS_AT_ONCE);
          if (json) for (const gap of page.items) output.line(JSON.stringify(gap));
          else found.push(...page.items);
          position = page.next;
        }
        const heads = ["RESOURCE", "GAP", "KEY", "REQUEST AND INDEX", "REASON"];
        if (!json)
          for (const line of table(heads, found.map(gapRow), "Nothing is missing.")) output.line(line);
      }),
    ),
});

const sign = verb({
  summary: "sign the statement of a backfill for the operator's side",
  args: ID,
  options: { hash: required(text("SHA256", "hash of the statement that you have read (backfill show)")) },
  examples: [`backfill sign ${EXAMPLE_ID} --hash 9f86d081884c7d65...`],
  json: '{"signatures"}',
  run: ({ id, hash }, { output, session }) =>
    withBackfill(session, id, async ({ pool, backfill, who }) => {
      const { signatures } = await countersignBackfill(pool, backfill, hash, who);
      output.result({ signatures }, "Signed: both sides have signed this statement.");
    }),
});

const abandon = verb({
  summary: "abandon an open backfill; its records are kept",
  args: ID,
  options: { why: text("TEXT", "the reason") },
  examples: [`backfill abandon ${EXAMPLE_ID} --why "wrong property"`],
  json: '{"state", "endedAt"}',
  run: ({ id, why }, { output, session }) =>
    withBackfill(session, id, async ({ pool, backfill, who }) => {
      const { state, endedAt } = await abandonBackfill(pool, backfill, why ?? null, who);
      output.result({ state, endedAt }, "Abandoned; its records are kept.");
    }),
});

export const command: Noun = { verbs: { list, show, gaps, sign, abandon } };
