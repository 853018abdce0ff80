import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { FastifyInstance, FastifyReply } from "fastify";
import type { Principal } from "../auth/principal.ts";
import { RESOURCES, type Resource } from "../contract/resource.ts";
import { noWaits } from "../observe/request-waits.ts";
import { acceptedAnswer } from "./accepted-answer.ts";
import { announceRate, authorize, refuseForbidden } from "./authorize.ts";
import type { HttpContext } from "./context.ts";
import { earlyRequestOf } from "./early-request.ts";
import type { HeaderParameters } from "./header-parameters.ts";
import type { RequestLog } from "./request-log.ts";
import { beginTrace } from "./request-trace.ts";
import { AheadOfFramework } from "./take-ahead.ts";
import { type DataRequest, type TakenBatch, takeBatch, writeScopeOf } from "./take-batch.ts";

/**
 * The three data endpoints (spec section 4), through the same steps: of a request that needs nothing unusual ahead of the
 * framework, of any other in its routes.
 */
export function registerDataRoutes(app: FastifyInstance, context: HttpContext, requestLog: RequestLog): void {
  for (const resource of RESOURCES) registerDataRoute(app, context, resource);
  const { server } = app;
  const framework = server.listeners("request").at(-1) as RequestListener;
  const ahead = new AheadOfFramework(context, requestLog, framework);
  app.addHook("preClose", async () => ahead.drain());
  server.off("request", framework);
  server.on("request", (raw: IncomingMessage, response: ServerResponse) => ahead.take(raw, response));
}

function registerDataRoute(app: FastifyInstance, context: HttpContext, resource: Resource): void {
  app.post(
    `/api/public/v1/${resource}`,
    { onRequest: authorize(context, writeScopeOf(resource)) },
    async (request, reply) => {
      const { raw } = request;
      const early = earlyRequestOf(raw)?.taken;
      const data: DataRequest = early?.request ?? {
        ...{ resource, raw, principal: request.principal as Principal, waits: request.waits ?? noWaits() },
        trace: beginTrace(context.tracer, raw.headers["traceparent"], request.startedAtMs),
      };
      request.trace = data.trace;
      let taken: TakenBatch;
      try {
        taken = await (early?.batch ?? takeBatch(context, data));
      } finally {
        announceParameters(reply, data.parameters);
        if (data.rate !== undefined) announceRate(reply, data.principal, data.rate);
      }
      if (taken.kind === "foreign") return refuseForbidden(reply, "insufficient_scope");
      request.acceptedRequestId = taken.requestId;
      const { location, type, body } = acceptedAnswer(raw.headers.accept, taken.requestId);
      return reply.code(202).header("location", location).type(type).send(body);
    },
  );
}

/** On every answer to a request whose parameters could be read, an error's too. */
function announceParameters(reply: FastifyReply, parameters: HeaderParameters | undefined): void {
  if (parameters === undefined) return;
  const { correlationId, preferenceApplied } = parameters;
  if (correlationId !== null) reply.header("x-correlation-id", correlationId);
  if (preferenceApplied !== null) reply.header("preference-applied", preferenceApplied);
}

declare module "fastify" {
  interface FastifyRequest {
    /** The UUID a batch was answered with, for the log line of the request. */
    acceptedRequestId?: string;
  }
}
