import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { authorize } from "../identity/authorize.ts";
import type { Principal } from "../identity/permissions.ts";
import { checkOrder } from "../platform/http/read-parameters.ts";
import { DefinedParameters } from "../query/defined-parameters.ts";
import type { HttpContext } from "../service-context.ts";
import { findCertification } from "./certification.ts";
import { CERTIFICATION_PARAMETERS } from "./openapi/certification-operations.ts";
import { readReport } from "./read-report.ts";

async function answer({ pool, wireNotes }: HttpContext, request: FastifyRequest, reply: FastifyReply) {
  const { clientId } = request.principal as Principal;
  const parameters = new DefinedParameters(request, CERTIFICATION_PARAMETERS);
  const span = { since: parameters.textOf("since"), until: parameters.textOf("until") };
  checkOrder(span.since, span.until);
  // What was noted on this thread counts from the next answer on.
  await wireNotes.settled();
  const certification = await findCertification(pool, clientId);
  const report = certification === undefined ? null : await readReport(pool, certification, span);
  reply.type("application/json; charset=utf-8").header("cache-control", "no-store");
  return reply.send(JSON.stringify({ certification: report }));
}

/** `GET` of how the client's own certification stands, with the scope `read`: a partner needs nobody to know. */
export function registerCertificationRoute(app: FastifyInstance, context: HttpContext): void {
  app.get("/api/public/v1/certification", { onRequest: authorize(context, "read") }, (request, reply) =>
    answer(context, request, reply),
  );
}
