import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Principal } from "../auth/principal.ts";
import { findCertification } from "../certify/certification.ts";
import { readReport } from "../certify/read-report.ts";
import { authorize } from "./authorize.ts";
import type { HttpContext } from "./context.ts";
import { DefinedParameters } from "./defined-parameters.ts";
import { CERTIFICATION_PARAMETERS } from "./openapi/certification-operations.ts";
import { checkOrder } from "./read-parameters.ts";

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
