import { choice, count, type Noun, required, text, verb, withDefault } from "../cli/command.ts";
import { type Columns, type Field, fields, itemTable, jsonLine, moment, table } from "../cli/output.ts";
import type { Opened } from "../cli/session.ts";
import { OperatorError } from "../platform/errors/operator-error.ts";
import type { Position } from "../platform/http/position.ts";
import { countText } from "../platform/runtime/amounts.ts";
import { OUTCOMES } from "../query/outcome.ts";
import { type Backfill, findBackfill, listBackfills } from "./backfill.ts";
import { abandonBackfill, countersignBackfill, isReproduced, NOT_RECOMPUTED } from "./close-backfill.ts";
import type { BackfillGap } from "./console-answers.ts";
import { readGaps } from "./gaps.ts";
import { onBackfill, type Progress, progressOf, type ResourceProgress } from "./progress.ts";

const GAPS_AT_ONCE = 500;
const ID = { id: required(text("ID", "the backfill's id (bellhop backfill list)")) };
const EXAMPLE_ID = "01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11";

/** Throws OperatorError for an unknown id. */
async function findOne({ pool }: Opened, id: string): Promise<Backfill> {
  const found = await findBackfill(pool, id.toLowerCase(), null);
  if (found === undefined) throw new OperatorError(`No backfill has the id ${JSON.stringify(id)}.`);
  return found;
}

const list = verb({
  summary: "list backfills",
  options: {
    state: choice("STATE", ["open", "closed", "abandoned"], "only in this state"),
    clientId: text("CLIENT_ID", "only of this client"),
    limit: withDefault(count("backfills listed"), 100),
  },
  examples: ["backfill list --state open"],
  json: '{"items": [{"backfillId", "state", "clientId", "manifest", "openedAt", "endedAt", "signatures", ...}]}',
  async database({ state, clientId, limit }, { pool }, { output }) {
    const filter = { clientId: clientId ?? null, state: state ?? null };
    const { items, next } = await listBackfills(pool, filter, null, limit);
    const columns: Columns<Backfill> = {
      BACKFILL: "backfillId",
      STATE: "state",
      PROPERTY: ({ manifest }) => `${manifest.clientCode}/${manifest.propertyCode}`,
      CLIENT: "clientId",
      OPENED: ({ openedAt }) => moment(openedAt),
      ENDED: ({ endedAt }) => moment(endedAt),
      SIGNED: ({ signatures }) => signatures.map(({ side }) => side).join("+") || "-",
    };
    const rest = next === null ? [] : [`More than ${limit} exist: raise --limit.`];
    const lines = [...itemTable(columns, items, "No backfills."), ...rest];
    output.result({ items: items.map(({ statement: _, ...own }) => own) }, lines);
  },
});

const COUNTED = ["records", ...OUTCOMES, "pending"] as const;
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
  const waiting = `${countText(waitingBatches, "batch", "batches")} since ${moment(oldestWaitingAt)}`;
  const same = reproduced
    ? "yes: the log reproduces the statement"
    : "NO: the log does not reproduce the statement";
  const answer = reproduced === null ? NOT_RECOMPUTED : same;
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
      ...only(
        lateBatches > 0,
        "late",
        `${countText(lateBatches, "batch", "batches")} arrived after the statement`,
      ),
      ...only(abandonedBy !== null, "abandoned", `${abandonedBy}: ${abandonedWhy ?? "no reason given"}`),
      ...only(statementHash !== null, "statement", statementHash ?? ""),
      ...only(statementHash !== null, "reproduced", answer),
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
  exitCodes: "0, or 1 if the log does not reproduce the signed statement.",
  async database({ id }, opened, { output }) {
    const backfill = await findOne(opened, id);
    const progress = await progressOf(opened.pool, backfill);
    const reproduced = await isReproduced(opened.pool, backfill);
    const { statement, ...own } = backfill;
    const { backfill: _, ...sums } = progress;
    const data = { ...own, ...sums, statement: JSON.parse(statement ?? "null"), reproduced };
    output.result(data, progressLines(progress, reproduced));
    return reproduced === false ? 1 : 0;
  },
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
  async database({ id }, opened, { output, json }) {
    await onBackfill(opened.pool, await findOne(opened, id), async ({ client, asked, tally }) => {
      const found: BackfillGap[] = [];
      for (let position: Position | null | undefined; position !== null; ) {
        const page = await readGaps(client, asked, tally, position ?? null, GAPS_AT_ONCE);
        if (json) for (const gap of page.items) output.line(jsonLine(gap));
        else found.push(...page.items);
        position = page.next;
      }
      const heads = ["RESOURCE", "GAP", "KEY", "REQUEST AND INDEX", "REASON"];
      if (!json) for (const line of table(heads, found.map(gapRow), "Nothing is missing.")) output.line(line);
    });
  },
});

const sign = verb({
  summary: "sign the statement of a backfill for the operator's side",
  args: ID,
  options: { hash: required(text("SHA256", "hash of the statement that you have read (backfill show)")) },
  examples: [`backfill sign ${EXAMPLE_ID} --hash 9f86d081884c7d65...`],
  json: '{"signatures"}',
  async database({ id, hash }, opened, { output }) {
    const backfill = await findOne(opened, id);
    const { signatures } = await countersignBackfill(opened.pool, backfill, hash, opened.who);
    output.result({ signatures }, "Signed: both sides have signed this statement.");
  },
});

const abandon = verb({
  summary: "abandon an open backfill; its records are kept",
  args: ID,
  options: { why: text("TEXT", "the reason") },
  examples: [`backfill abandon ${EXAMPLE_ID} --why "wrong property"`],
  json: '{"state", "endedAt"}',
  async database({ id, why }, opened, { output }) {
    const backfill = await findOne(opened, id);
    const { state, endedAt } = await abandonBackfill(opened.pool, backfill, why ?? null, opened.who);
    output.result({ state, endedAt }, "Abandoned; its records are kept.");
  },
});

export const command: Noun = { verbs: { list, show, gaps, sign, abandon } };
