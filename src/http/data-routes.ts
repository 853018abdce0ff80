import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Submission } from "../accept/submission.ts";
import { recordAudit } from "../auth/audit.ts";
import { type Principal, permits } from "../auth/principal.ts";
import { type BatchRecord, type BatchRefusal, readBatchInTurns } from "../contract/read-batch.ts";
import { letterOf, RESOURCES, type Resource } from "../contract/resource.ts";
import { ServiceError } from "../errors/registry.ts";
import { authorize, refuseForbidden } from "./authorize.ts";
import type { HttpContext } from "./context.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { type HeaderParameters, prefersPlainText, readHeaderParameters } from "./header-parameters.ts";
import { BatchJudge } from "./judge-batch.ts";
import { checkMediaType, type ReceivedBody, receiveBody } from "./receive-body.ts";

/** The longest code a record may carry (contract: "codes and ids 128"). */
const CODE_KEPT_CHARACTERS_MAX = 128;

/** What is refused was not checked, and may be as long as the body. A character that the cut halves cannot be stored. */
function cutCode(code: string | undefined): string | undefined {
  return code?.slice(0, CODE_KEPT_CHARACTERS_MAX).toWellFormed();
}

/** Watches a batch's records for one that names a property the client was not granted, as far as its codes can be read. */
function watchForForeign(principal: Principal): (record: BatchRecord) => boolean {
  let lastClient: string | undefined;
  let lastProperty: string | undefined;
  return ({ clientCode, propertyCode }) => {
    if (clientCode === undefined || propertyCode === undefined) return false;
    // Most batches name one property: its permission is looked up once.
    if (clientCode === lastClient && propertyCode === lastProperty) return false;
    if (!permits(principal, clientCode, propertyCode)) return true;
    lastClient = clientCode;
    lastProperty = propertyCode;
    return false;
  };
}

type ForeignRecord = Pick<BatchRecord, "index" | "clientCode" | "propertyCode">;

async function auditForeign(
  context: HttpContext,
  principal: Principal,
  resource: Resource,
  record: ForeignRecord,
) {
  await recordAudit(context.pool, {
    who: `client:${principal.clientId}`,
    what: "refuse-foreign-property",
    clientId: principal.clientId,
    detail: {
      resource,
      index: record.index,
      clientCode: cutCode(record.clientCode),
      propertyCode: cutCode(record.propertyCode),
    },
  });
}

/** Same client, key and this: the path, how it is to be handled, and the decompressed body. */
async function idempotencyOf(
  { idempotencyKey: key, lenient }: HeaderParameters,
  resource: Resource,
  body: Buffer,
): Promise<Submission["idempotency"]> {
  if (key === null) return null;
  return { key, fingerprint: await fingerprintOf(`${resource}\0${lenient}\0`, body) };
}

function answerAccepted(request: FastifyRequest, reply: FastifyReply, requestId: string): FastifyReply {
  reply.code(202).header("location", `/api/public/v1/requests/${requestId}`);
  if (prefersPlainText(request.headers.accept))
    return reply.type("text/plain; charset=utf-8").send(requestId);
  return reply.type("application/json; charset=utf-8").send(`{"requestId":"${requestId}"}`);
}

function refusalError({ code, message, violations }: BatchRefusal): ServiceError {
  if (violations.length === 0) return new ServiceError(code, { message });
  return new ServiceError(code, { message, violations, violationTotal: violations.length });
}

async function acceptBody(
  context: HttpContext,
  resource: Resource,
  parameters: HeaderParameters,
  received: ReceivedBody,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const body = received.bytes;
  const bodyBytes = body.length;
  const principal = request.principal as Principal;
  const isForeign = watchForForeign(principal);
  const judge = new BatchJudge(resource, parameters.lenient);
  let foreign: ForeignRecord | undefined;
  const refusal = await readBatchInTurns(body, context.limits, resource, (record) => {
    if (foreign !== undefined) return;
    if (isForeign(record)) {
      const { index, clientCode, propertyCode } = record;
      foreign = { index, clientCode, propertyCode };
    } else judge.see(record);
  });
  if (refusal !== undefined) throw refusalError(refusal);
  if (foreign !== undefined) {
    await auditForeign(context, principal, resource, foreign);
    return refuseForbidden(reply, "insufficient_scope");
  }
  const { records, rejected } = judge.judgement();
  await context.properties.register(principal.clientId, records);
  const { requestId, repeated } = await context.acceptLog.append({
    clientId: principal.clientId,
    resource: letterOf(resource),
    body,
    records,
    rejected,
    lenient: parameters.lenient,
    correlationId: parameters.correlationId,
    replyTo: parameters.replyTo,
    idempotency: await idempotencyOf(parameters, resource, body),
    packed: (bytes) => received.keepOnly(bytes),
  });
  const { metrics } = context;
  if (repeated) metrics.repeatedKeys.inc();
  else {
    metrics.acceptedBatches.inc({ resource });
    metrics.acceptedRecords.inc({ resource }, records.length);
    metrics.rejectedRecords.inc({ resource }, rejected.length);
    metrics.bodyBytes.observe({ resource }, bodyBytes);
  }
  request.acceptedRequestId = requestId;
  return answerAccepted(request, reply, requestId);
}

declare module "fastify" {
  interface FastifyRequest {
    /** The UUID a batch was answered with, for the log line of the request. */
    acceptedRequestId?: string;
  }
}

/** The three data endpoints (spec section 4), one after another through the same steps. */
export function registerDataRoutes(app: FastifyInstance, context: HttpContext): void {
  for (const resource of RESOURCES) {
    app.post(
      `/api/public/v1/${resource}`,
      { onRequest: authorize(context, `${resource}:write`) },
      async (request, reply) => {
        checkMediaType(request.headers["content-type"]);
        const parameters = readHeaderParameters(request.raw);
        if (parameters.correlationId !== null) reply.header("x-correlation-id", parameters.correlationId);
        if (parameters.preferenceApplied !== null)
          reply.header("preference-applied", parameters.preferenceApplied);
        const blocked = context.blockedReason();
        if (blocked !== undefined) {
          throw new ServiceError("bellhop.accept.Unavailable", {
            cause: new Error(blocked),
            retryAfterSeconds: 5,
          });
        }
        const { clientId } = request.principal as Principal;
        const body = await receiveBody(request.raw, clientId, context.limits, context.budget);
        try {
          return await acceptBody(context, resource, parameters, body, request, reply);
        } finally {
          body.release();
        }
      },
    );
  }
}
