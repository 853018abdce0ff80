import type { FastifyInstance } from "fastify";
import type { ConsoleParts } from "../console/console-parts.ts";
import { type Asked, addChange, addQuestion, pagingOf } from "../console/console-routes.ts";
import { ConsoleError } from "../platform/errors/console-registry.ts";
import type { Page } from "../platform/http/answers.ts";
import { code, pages, word } from "../platform/http/parameters.ts";
import { clientNames } from "../query/console/requests.ts";
import {
  BACKFILL_POSITION,
  type Backfill,
  findBackfill,
  listBackfills,
  WHY_CHARACTERS_MAX,
} from "./backfill.ts";
import { abandonBackfill, countersignBackfill, isReproduced } from "./close-backfill.ts";
import type { BackfillAnswer, BackfillGap, BackfillListItem } from "./console-answers.ts";
import { GAP_POSITION, readGaps } from "./gaps.ts";
import { backfillAnswer, backfillItem, onBackfill, progressOf } from "./progress.ts";

const HASH_CHARACTERS = 64;

async function itemsOf(
  { context: { pool } }: ConsoleParts,
  backfills: readonly Backfill[],
): Promise<BackfillListItem[]> {
  const names = await clientNames(
    pool,
    backfills.map(({ clientId }) => clientId),
  );
  return backfills.map((backfill) => {
    const { clientId, signatures } = backfill;
    return { ...backfillItem(backfill), clientId, clientName: names.get(clientId) ?? null, signatures };
  });
}

async function requireOne(
  { context }: ConsoleParts,
  { named, operator }: Pick<Asked, "named" | "operator">,
): Promise<Backfill> {
  const found = await findBackfill(context.pool, (named["backfillId"] ?? "").toLowerCase(), null);
  const { clientCode = "", propertyCode = "" } = found?.manifest ?? {};
  if (found !== undefined && operator.scope.permits(clientCode, propertyCode)) return found;
  throw new ConsoleError("bellhop.console.NotFound", { message: "No backfill has this id." });
}

async function answerOne(parts: ConsoleParts, backfill: Backfill): Promise<BackfillAnswer> {
  const { pool } = parts.context;
  const { abandonedBy, abandonedWhy } = backfill;
  const [item] = (await itemsOf(parts, [backfill])) as [BackfillListItem];
  return {
    ...backfillAnswer(await progressOf(pool, backfill)),
    ...item,
    abandonedBy,
    abandonedWhy,
    reproduced: await isReproduced(pool, backfill),
  };
}

/** Adds the routes for backfills: progress, gaps, and the operator's signature. */
export function addBackfillRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  const { pool } = parts.context;
  const listed = {
    state: word("", ["open", "closed", "abandoned"], "open"),
    clientId: code(),
    ...pages(),
  };
  type List = Promise<Page<BackfillListItem>>;
  addQuestion(
    scope,
    parts,
    { permission: "read-data", path: "backfills", parameters: listed },
    async (asked): List => {
      const { state = null, clientId = null } = asked.parameters;
      const { limit, start, cursorOf } = pagingOf(parts, "backfills", asked, BACKFILL_POSITION);
      const filter = { clientId, state, within: asked.operator.scope.keys };
      const { items, next } = await listBackfills(pool, filter, start, limit);
      return { items: await itemsOf(parts, items), nextCursor: cursorOf(next) };
    },
  );
  const one = "backfills/:backfillId";
  addQuestion(scope, parts, { permission: "read-data", path: one }, async (asked) =>
    answerOne(parts, await requireOne(parts, asked)),
  );
  type Gaps = Promise<Page<BackfillGap>>;
  addQuestion(
    scope,
    parts,
    { permission: "read-data", path: `${one}/gaps`, parameters: pages() },
    async (question): Gaps => {
      const backfill = await requireOne(parts, question);
      const { limit, start, cursorOf } = pagingOf(
        parts,
        `gaps/${backfill.backfillId}`,
        question,
        GAP_POSITION,
      );
      return onBackfill(pool, backfill, async ({ client, asked, tally }) => {
        const { items, next } = await readGaps(client, asked, tally, start, limit);
        return { items, nextCursor: cursorOf(next) };
      });
    },
  );
  addChange(
    scope,
    parts,
    { permission: "sign-backfills", path: `${one}/sign`, fields: ["hash"] },
    async (form) => {
      const hash = form.body.requiredText("hash", HASH_CHARACTERS);
      return answerOne(parts, await countersignBackfill(pool, await requireOne(parts, form), hash, form.who));
    },
  );
  addChange(
    scope,
    parts,
    { permission: "sign-backfills", path: `${one}/abandon`, fields: ["why"] },
    async (form) => {
      const why = form.body.requiredText("why", WHY_CHARACTERS_MAX);
      return answerOne(parts, await abandonBackfill(pool, await requireOne(parts, form), why, form.who));
    },
  );
}
