import type { FastifyInstance, FastifyRequest } from "fastify";
import type { ConsoleParts } from "../console/console-parts.ts";
import { type Asked, addQuestion, pagingOf } from "../console/console-routes.ts";
import { CONSOLE_API, operatorAfterWait, operatorOf, requireInScope } from "../console/guard.ts";
import { BoundedMap } from "../identity/bounded-map.ts";
import { arrangeGrants } from "../identity/grants.ts";
import type { Principal } from "../identity/permissions.ts";
import type { Scope } from "../identity/scope.ts";
import { apartFromReader } from "../platform/db/connection.ts";
import { code, date, pages, required, word } from "../platform/http/parameters.ts";
import type { PositionShape } from "../platform/http/position.ts";
import { checkOrder, invalidParameter } from "../platform/http/read-parameters.ts";
import { ANY_REQUEST, listRequestsOfAll } from "../query/console/requests.ts";
import { findProperty } from "../query/property.ts";
import type {
  AttentionAnswer,
  CalendarAnswer,
  ClientCodesAnswer,
  IntakeAnswer,
  IntakeRange,
  PortfolioAnswer,
  PortfolioSort,
  SearchAnswer,
} from "./console/answers.ts";
import { IntakeMeter } from "./console/intake.ts";
import { answerPortfolio } from "./console/portfolio.ts";
import { listClientCodes, nightsBetween, readCalendar } from "./console/properties.ts";
import { readAttention, search, searchAmongProperties } from "./console/search.ts";
import { type InsightContext, registerInsightRoutes } from "./insight-routes.ts";
import { buildPortfolioReport } from "./portfolio-report.ts";
import { PORTFOLIO_REPORT_PARAMETERS, portfolioQuestionOf } from "./portfolio-report-route.ts";
import { PORTFOLIO_NIGHTS, type PortfolioNights } from "./property-figures.ts";

/** A principal for the operator, with the scope `insight:read` and a grant for the requested property if it is in the operator's scope. */
function principalOf(parts: ConsoleParts, request: FastifyRequest): Principal {
  const operator = operatorOf(request);
  const { requestRate, requestBurst } = parts.internals.config;
  const address = request.raw.url ?? "";
  const asked = new URLSearchParams(address.slice(address.indexOf("?") + 1));
  const [clientCode, propertyCode] = [asked.get("clientCode"), asked.get("propertyCode")];
  const isNamed = clientCode !== null && propertyCode !== null;
  if (isNamed) requireInScope(operator, clientCode, propertyCode);
  return {
    clientId: `console:${operator.name}`,
    scopes: new Set(["insight:read"]),
    grants: arrangeGrants(isNamed ? [{ clientCode, propertyCode }] : []),
    requestRate,
    requestBurst,
    tokenId: "",
    replyToOrigins: [],
    nulls: "specified",
    certificationId: null,
  };
}

/** Serves the partners' insights to operators. */
export function addInsightRoutes(scope: FastifyInstance, parts: ConsoleParts<InsightContext>): void {
  registerInsightRoutes(scope, parts.context, {
    path: `${CONSOLE_API}/insight`,
    onRequest: async (request: FastifyRequest) => {
      request.principal = principalOf(parts, request);
    },
    config: { permission: "read-data" },
    run(request, answer, signal) {
      const checkedAt = performance.now();
      const afterWait = async () => {
        await operatorAfterWait(parts, request, "read-data", checkedAt);
        request.principal = principalOf(parts, request);
        return answer();
      };
      return parts.questions.run(afterWait, operatorOf(request).name, signal);
    },
  });
}

const LAST_BATCHES = 20;
/** Scopes whose counts a node caches. */
const METERS_MAX = 100;
const INTAKE_RANGES = ["hour", "day"] as const satisfies readonly IntakeRange[];

/** Current ingestion. Every open page polls it every few seconds; concurrent requests share one count. */
export function addIntakeRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  const { pool } = parts.context;
  const meters = new BoundedMap<string, IntakeMeter>(METERS_MAX);
  const meterOf = ({ keys }: Scope) => {
    const name = JSON.stringify(keys);
    const meter = meters.get(name) ?? new IntakeMeter(pool, keys);
    meters.set(name, meter);
    return meter;
  };
  addQuestion(
    scope,
    parts,
    {
      permission: "read-data",
      path: "intake",
      parameters: { range: word("", INTAKE_RANGES, "day", "hour") },
    },
    async ({ parameters: { range }, operator }): Promise<IntakeAnswer> => {
      const { items } = await listRequestsOfAll(pool, operator.scope, null, ANY_REQUEST, null, LAST_BATCHES);
      return { ...(await apartFromReader(() => meterOf(operator.scope).look(range))), lastBatches: items };
    },
  );
}

const NIGHTS_MAX = 800;

const CALENDAR = {
  clientCode: required(code()),
  propertyCode: required(code()),
  from: required(date()),
  to: required(date()),
};

async function answerCalendar(
  { context }: ConsoleParts,
  { parameters, operator }: Asked<typeof CALENDAR>,
): Promise<CalendarAnswer> {
  const { clientCode, propertyCode, from, to } = parameters;
  requireInScope(operator, clientCode, propertyCode);
  checkOrder(from, to);
  if (nightsBetween(from, to) > NIGHTS_MAX)
    throw invalidParameter(`from and to may be at most ${NIGHTS_MAX} nights apart.`);
  const property = await findProperty(context.pool, clientCode, propertyCode);
  return { clientCode, propertyCode, from, to, ...(await readCalendar(context.pool, property, from, to)) };
}

const SORTS = [
  "name",
  "occupancy",
  "rooms",
  "revenue",
  "adr",
  "revpar",
  "pickupDay",
  "pickupWeek",
  "change",
  "variance",
] as const satisfies readonly PortfolioSort[];
const ATTENTION = ["any", "silent", "quarantine", "variance", "unmapped"] as const;
/** A page's offset: figures change between pages, and their order with them. */
const PORTFOLIO_POSITION: PositionShape = [(part) => typeof part === "number"];

const NIGHTS = PORTFOLIO_NIGHTS.map((nights) => `${nights}` as const);
const PORTFOLIO = {
  nights: word("", NIGHTS, "7", `${PORTFOLIO_NIGHTS[2]}`),
  search: code(),
  city: code(),
  attention: word("", ATTENTION, "any"),
  sort: word("", SORTS, "name", "name"),
  order: word("", ["down"], "down"),
  ...pages(),
};

async function answerPortfolioQuestion(
  parts: ConsoleParts,
  asked: Asked<typeof PORTFOLIO>,
): Promise<PortfolioAnswer> {
  const { nights, order, limit: _limit, cursor: _cursor, ...filter } = asked.parameters;
  const question = {
    ...filter,
    within: asked.operator.scope,
    nights: Number(nights) as PortfolioNights,
    isDescending: order !== undefined,
  };
  const { limit, start, cursorOf } = pagingOf(parts, "portfolio", asked, PORTFOLIO_POSITION);
  const { next, ...answer } = await answerPortfolio(
    ...([parts.context.pool, question, Number(start?.[0] ?? 0), limit] as const),
  );
  return { ...answer, nextCursor: cursorOf(next === null ? null : [next]) };
}

/** The portfolio, its daily report, and the nights without inventory of one property. */
export function addPropertyRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  const { pool } = parts.context;
  addQuestion(scope, parts, { permission: "read-data", path: "portfolio", parameters: PORTFOLIO }, (asked) =>
    answerPortfolioQuestion(parts, asked),
  );
  addQuestion(
    scope,
    parts,
    { permission: "read-data", path: "portfolio-report", parameters: PORTFOLIO_REPORT_PARAMETERS },
    ({ parameters, operator }) => buildPortfolioReport(pool, portfolioQuestionOf(parameters, operator.scope)),
  );
  addQuestion(
    scope,
    parts,
    { permission: "read-data", path: "client-codes" },
    async ({ operator }): Promise<ClientCodesAnswer> => ({
      items: await listClientCodes(pool, operator.scope),
    }),
  );
  addQuestion(scope, parts, { permission: "read-data", path: "calendar", parameters: CALENDAR }, (asked) =>
    answerCalendar(parts, asked),
  );
}

/** Polled by every open page: requests of one scope within this time share an answer. */
const ATTENTION_KEPT_MS = 5_000;

/** The search, and the warnings shown in the navigation. */
export function addShellRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  const { pool } = parts.context;
  addQuestion(
    scope,
    parts,
    {
      permission: "read-data",
      path: "search",
      parameters: { text: code(), of: word("", ["properties"], "properties") },
    },
    ({ parameters: { text, of }, operator }): Promise<SearchAnswer> =>
      of === undefined && text !== undefined
        ? search(pool, operator, text)
        : searchAmongProperties(pool, operator, text ?? ""),
  );
  const kept = new BoundedMap<string, { readonly atMs: number; readonly answer: AttentionAnswer }>(
    METERS_MAX,
  );
  addQuestion(
    scope,
    parts,
    { permission: "read-data", path: "attention" },
    async ({ operator }): Promise<AttentionAnswer> => {
      const name = JSON.stringify(operator.scope.keys);
      const before = kept.get(name);
      if (before !== undefined && performance.now() - before.atMs < ATTENTION_KEPT_MS) return before.answer;
      const answer = await readAttention(pool, operator.scope);
      kept.set(name, { atMs: performance.now(), answer });
      return answer;
    },
  );
}
