import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { hasScope, type Principal } from "../auth/principal.ts";
import { letterOf, type Resource } from "../contract/resource.ts";
import { ServiceError } from "../errors/registry.ts";
import { ChangeCursors } from "../feed/change-cursor.ts";
import { readChangeEnds } from "../feed/change-ends.ts";
import { bucketsOf, type ChangeFilter } from "../feed/change-filter.ts";
import { ChangeWatch } from "../feed/change-watch.ts";
import { readCursorEpoch } from "../feed/cursor-epoch.ts";
import { awaitChanges, type FollowedEnd, followChanges } from "../feed/follow-changes.ts";
import { BEGINNING, type Positions } from "../feed/positions.ts";
import { authorize, refuseForbidden, verifyBearer } from "./authorize.ts";
import type { HttpContext } from "./context.ts";
import { DefinedParameters } from "./defined-parameters.ts";
import { CHANGE_PARAMETERS, CHANGES_PATH } from "./openapi/change-operations.ts";
import { sendPage } from "./read-page.ts";
import { invalidParameter } from "./read-parameters.ts";
import { mayRead } from "./read-property.ts";

const SCOPE = "read";

function filterOf(parameters: DefinedParameters, { grants }: Principal): ChangeFilter {
  const resource = parameters.textOf("resource") as Resource | undefined;
  const filter: ChangeFilter = {
    granted: grants,
    resources: resource === undefined ? undefined : [letterOf(resource)],
    clientCode: parameters.textOf("clientCode"),
    propertyCode: parameters.textOf("propertyCode"),
  };
  if (filter.propertyCode !== undefined && filter.clientCode === undefined)
    throw invalidParameter("propertyCode takes its clientCode beside it.");
  return filter;
}

/** What a filter names must be the client's to read; what it does not name and is not the client's is left out of the feed. */
async function mayAsk(context: HttpContext, principal: Principal, filter: ChangeFilter): Promise<boolean> {
  const { clientCode, propertyCode } = filter;
  if (clientCode === undefined) return true;
  if (propertyCode === undefined && principal.grants.has(clientCode)) return true;
  return mayRead(context, principal, { clientCode, propertyCode: propertyCode ?? "*" });
}

async function startOf(
  context: HttpContext,
  parameters: DefinedParameters,
  filter: ChangeFilter,
  cursors: ChangeCursors,
): Promise<Positions> {
  const cursor = parameters.textOf("cursor");
  const isFromNow = parameters.givenText("from") === "now";
  if (cursor === undefined) return isFromNow ? readChangeEnds(context.pool, bucketsOf(filter)) : BEGINNING;
  if (isFromNow) throw invalidParameter("from=now begins the feed anew: leave it out with a cursor.");
  const start = cursors.read(cursor);
  if (start === undefined)
    throw invalidParameter("cursor takes the cursor of a line that answered this same query.");
  if (start === "former") throw new ServiceError("bellhop.feed.CursorGone");
  return start;
}

async function answer(
  context: HttpContext,
  watch: ChangeWatch,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { pool } = context;
  const principal = request.principal as Principal;
  const parameters = new DefinedParameters(request, CHANGE_PARAMETERS);
  const filter = filterOf(parameters, principal);
  if (!(await mayAsk(context, principal, filter))) return refuseForbidden(reply, "insufficient_scope");
  const filters = parameters.filtersWithout("cursor", "from", "limit", "wait");
  const seal = { key: context.cursorKey, epoch: await readCursorEpoch(pool) };
  const cursors = new ChangeCursors(seal, { clientId: principal.clientId, filters });
  const limit = parameters.givenNumber("limit");
  const gone = new AbortController();
  reply.raw.once("close", () => gone.abort());
  const start = await awaitChanges(pool, watch, {
    who: principal.clientId,
    from: await startOf(context, parameters, filter, cursors),
    limit,
    waitMs: request.method === "HEAD" ? 0 : parameters.givenNumber("wait") * 1_000,
    signal: gone.signal,
    async filterNow() {
      const bearer = await verifyBearer(context, request.headers);
      if (bearer.kind !== "ok" || !hasScope(bearer.principal, SCOPE)) return undefined;
      return { ...filter, granted: bearer.principal.grants };
    },
  });
  if (start === undefined) return refuseForbidden(reply, "invalid_token");
  return sendPage<FollowedEnd>(
    reply,
    followChanges(pool, start, limit, (at) => cursors.write(at)),
    {
      head: "",
      asLines: true,
      tail: ({ positions, caughtUp }) =>
        `${JSON.stringify({ type: "cursor", cursor: cursors.write(positions), caughtUp })}\n`,
    },
  );
}

/** `GET /api/public/v1/changes`: the change feed (docs/changes.md), with the scope `read`. */
export function registerChangeRoutes(app: FastifyInstance, context: HttpContext): void {
  const watch = new ChangeWatch(context.pool);
  app.addHook("preClose", async () => watch.end());
  app.get(CHANGES_PATH, { onRequest: authorize(context, SCOPE) }, (request, reply) =>
    answer(context, watch, request, reply),
  );
}
