import type { FastifyInstance } from "fastify";
import type pg from "pg";
import type { ConsoleParts } from "../console/console-parts.ts";
import { addChange, addQuestion, type Form, type Paging, pagingOf } from "../console/console-routes.ts";
import { requireInScope } from "../console/guard.ts";
import type { JsonBody } from "../console/json-body.ts";
import { ConsoleError } from "../platform/errors/console-registry.ts";
import { code, pages, required, word } from "../platform/http/parameters.ts";
import { isKey, type Position, type PositionShape } from "../platform/http/position.ts";
import { businessDayOf } from "./business-day.ts";
import { changeSetting } from "./change-setting.ts";
import type { SettingsAnswer, StatusesAnswer } from "./console-answers.ts";
import { settingsOfClient } from "./property-settings.ts";
import { type ClientStatus, changeMapping, listStatuses, previewMapping } from "./status-mapping.ts";

const CODE_CHARACTERS_MAX = 128;

async function describeSettings(
  { context }: ConsoleParts,
  clientCode: string,
  propertyCode: string | null,
): Promise<SettingsAnswer> {
  // No property has an empty code: without one, only those of the client code are read.
  const settings = await settingsOfClient(context.pool, clientCode, propertyCode ?? "");
  return {
    clientCode,
    propertyCode,
    settingsVersion: settings.version,
    businessDay: businessDayOf(new Date(), settings.of(propertyCode)),
    settings: settings.effectiveOf(propertyCode).map(({ name, value, by }) => ({ name, value, from: by })),
  };
}

/** Position of a status in the list: resource and status. */
const STATUS_POSITION: PositionShape = [isKey, isKey];

function compareStatuses(one: Position, other: Position): number {
  const [at, toAt] = one[0] === other[0] ? [one[1], other[1]] : [one[0], other[0]];
  return String(at) < String(toAt) ? -1 : at === toAt ? 0 : 1;
}

/** The page in the response to a change, which has no cursor. */
const FIRST_PAGE: Paging = { limit: 100, start: null, cursorOf: () => null };

/** A client code normally has some tens of statuses. One whose records have a new one each is shown, and counted, up to this number. */
const STATUSES_MAX = 10_000;

/** A page of status mappings. Counts them for each page, because a client code normally has few. */
async function describeStatuses(
  { context }: ConsoleParts,
  clientCode: string,
  { by, paging }: { readonly by?: "unmapped" | undefined; readonly paging?: Paging } = {},
): Promise<StatusesAnswer> {
  const { limit, start, cursorOf } = paging ?? FIRST_PAGE;
  const placeOf = ({ resource, status }: ClientStatus): Position => [resource, status];
  const mappings = (await listStatuses(context.pool, clientCode, STATUSES_MAX)).sort((one, other) =>
    compareStatuses(placeOf(one), placeOf(other)),
  );
  const unmapped = mappings.filter((one) => one.by === "unmapped");
  const listed = by === undefined ? mappings : unmapped;
  const rest = start === null ? listed : listed.filter((one) => compareStatuses(placeOf(one), start) > 0);
  const items = rest.slice(0, limit);
  const last = rest.length > limit ? items.at(-1) : undefined;
  return {
    clientCode,
    items: items.map(({ clientCode: _code, ...item }) => item),
    nextCursor: cursorOf(last === undefined ? null : placeOf(last)),
    unmapped: {
      statuses: unmapped.length,
      records: unmapped.reduce((sum, { records }) => sum + records, 0),
    },
  };
}

async function answerSetting(
  parts: ConsoleParts,
  kind: "set" | "unset",
  form: Form,
): Promise<SettingsAnswer> {
  const { body, operator, who } = form;
  const of = {
    clientCode: body.requiredText("clientCode", CODE_CHARACTERS_MAX),
    propertyCode: body.text("propertyCode", CODE_CHARACTERS_MAX) ?? null,
    name: body.requiredText("name"),
  };
  requireInScope(operator, of.clientCode, of.propertyCode);
  const value = kind === "set" ? body.requiredText("value") : undefined;
  await changeSetting(parts.context.pool, who, of, value);
  return describeSettings(parts, of.clientCode, of.propertyCode);
}

function statusOf(body: JsonBody): ClientStatus {
  const resource = body.requiredText("resource");
  if (resource !== "reservations" && resource !== "groups") {
    const message = "Only reservations and groups have statuses: resource must be one of them.";
    throw new ConsoleError("bellhop.console.InvalidInput", { message });
  }
  return {
    clientCode: body.requiredText("clientCode", CODE_CHARACTERS_MAX),
    resource,
    status: body.requiredText("status", CODE_CHARACTERS_MAX),
  };
}

async function answerStatus(parts: ConsoleParts, kind: "set" | "unset", form: Form): Promise<StatusesAnswer> {
  const of = statusOf(form.body);
  requireInScope(form.operator, of.clientCode, null);
  const deducts = kind === "set" ? form.body.requiredFlag("deducts") : undefined;
  await changeMapping(parts.context.pool, form.who, of, deducts);
  return describeStatuses(parts, of.clientCode);
}

/** Adds the routes for settings and status mappings. */
export function addSettingsRoutes(
  scope: FastifyInstance,
  parts: ConsoleParts<{ readonly questions: pg.Pool }>,
): void {
  addQuestion(
    scope,
    parts,
    {
      permission: "read-data",
      path: "settings",
      parameters: { clientCode: required(code()), propertyCode: code() },
    },
    async (asked) => {
      const { operator } = asked;
      const { clientCode, propertyCode = null } = asked.parameters;
      // A client code's settings apply to each of its properties.
      if (propertyCode !== null || !operator.scope.touches(clientCode))
        requireInScope(operator, clientCode, propertyCode);
      return describeSettings(parts, clientCode, propertyCode);
    },
  );
  const listed = { clientCode: required(code()), by: word("", ["unmapped"], "unmapped"), ...pages() };
  addQuestion(
    scope,
    parts,
    { permission: "read-data", path: "statuses", parameters: listed },
    async (asked) => {
      const { clientCode, by } = asked.parameters;
      requireInScope(asked.operator, clientCode, null);
      const paging = pagingOf(parts, "statuses", asked, STATUS_POSITION);
      return describeStatuses(parts, clientCode, { by, paging });
    },
  );
  const foreseen = {
    clientCode: required(code()),
    resource: word("", ["reservations", "groups"], "reservations", "reservations"),
    status: required(code()),
  };
  addQuestion(
    scope,
    parts,
    { permission: "change-settings", path: "statuses/foresee", parameters: foreseen },
    async ({ parameters, operator }) => {
      requireInScope(operator, parameters.clientCode, null);
      return previewMapping(parts.context.questions, parameters);
    },
  );
  for (const kind of ["set", "unset"] as const) {
    const setting = ["clientCode", "propertyCode", "name", ...(kind === "set" ? ["value"] : [])];
    addChange(
      scope,
      parts,
      { permission: "change-settings", path: `settings/${kind}`, fields: setting },
      (form) => answerSetting(parts, kind, form),
    );
    const status = ["clientCode", "resource", "status", ...(kind === "set" ? ["deducts"] : [])];
    addChange(
      scope,
      parts,
      { permission: "change-settings", path: `statuses/${kind}`, fields: status },
      (form) => answerStatus(parts, kind, form),
    );
  }
}
