import type { FastifyInstance, FastifyRequest } from "fastify";
import type { ConsoleParts } from "../console/console-parts.ts";
import { CONSOLE_API } from "../console/console-routes.ts";
import { requireSession } from "../console/guard.ts";
import { arrangeGrants } from "../identity/grants.ts";
import type { OperatorSession } from "../identity/operator-session.ts";
import type { Principal } from "../identity/principal.ts";
import { registerInsightRoutes } from "./insight-routes.ts";

/** An operator in the place of a partner: with the scope of insights, and granted the client code that is asked about. */
function principalOf(parts: ConsoleParts, operator: OperatorSession, request: FastifyRequest): Principal {
  const { requestRate, requestBurst } = parts.internals.config;
  const address = request.raw.url ?? "";
  const asked = new URLSearchParams(address.slice(address.indexOf("?") + 1)).get("clientCode");
  return {
    clientId: `console:${operator.name}`,
    scopes: new Set(["insight:read"]),
    grants: arrangeGrants(asked === null ? [] : [{ clientCode: asked, propertyCode: "*" }]),
    requestRate,
    requestBurst,
    tokenId: "",
    replyToOrigins: [],
    certificationId: null,
  };
}

/** The insights that partners have, for operators and of every client code: the very same answers. */
export function addInsightRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  registerInsightRoutes(scope, parts.context, {
    path: `${CONSOLE_API}/insight`,
    onRequest: async (request: FastifyRequest) => {
      request.principal = principalOf(parts, await requireSession(parts, request), request);
    },
    run: (_request, answer) => parts.questions.run(answer),
  });
}
