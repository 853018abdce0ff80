import type pg from "pg";
import { type AdmissionContext, authorizeAgain } from "../identity/authorize.ts";
import { EXAMPLE_CLIENT, EXAMPLE_PROPERTY } from "../ingest/openapi/record-examples.ts";
import { readFor } from "../platform/db/connection.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { jsonAnswer } from "../platform/http/openapi/errors.ts";
import { schemaOf } from "../platform/http/openapi/model.ts";
import {
  choice,
  component,
  componentOrNull,
  count,
  exampleOf,
  flag,
  list,
  objectOf,
  orNull,
  text,
  time,
  timestamp,
  uuid,
} from "../platform/http/openapi/schema.ts";
import { instant } from "../platform/http/parameters.ts";
import { checkOrder } from "../platform/http/read-parameters.ts";
import { readingFor } from "../platform/http/reader.ts";
import { type Semaphore, SemaphoreFull } from "../platform/runtime/semaphore.ts";
import { endpointOf } from "../query/endpoint.ts";
import { findCertification } from "./certification.ts";
import { readReport } from "./read-report.ts";
import { CHECKLIST } from "./report.ts";
import type { WireNotes } from "./wire-notes.ts";

const BUSY_RETRY_SECONDS = 5;
const OPENED_AT = "2026-06-01T08:30:00.000000Z";

const STEP = {
  step: {
    ...text("The step's stable name.", 64, "cancellation"),
    "x-extensible-enum": CHECKLIST.map(({ name }) => name),
  },
  title: text("The step's title.", 128, "A cancelled reservation"),
  instruction: text("The definition of the endpoint.", 2048, "Book a reservation, then cancel it."),
  result: choice("The status.", ["pass", "fail", "not-yet"], "fail", {
    pass: "The requirement is met.",
    fail: "The requirement is violated; the reason says how, and what to do.",
    "not-yet": "No matching request has been received yet.",
  }),
  reason: text(
    "What was received, or is still missing.",
    4096,
    "R-48213 is cancelled and has no cancellationDateTime, so the time of the cancellation is unknown.",
  ),
  requestIds: list("The requests the result is based on.", 20, schemaOf("RequestId")),
};

const OBSERVED = {
  batches: count("Accepted batches.", 3),
  records: count("Records of those batches.", 3),
  pending: count("Records without an outcome yet; no step counts them.", 3),
  tokens: count("Tokens issued.", 3),
  rateLimited: count("Responses with 429.", 3),
  refused: count("Refused batches.", 3),
  lenient: count("Batches with `Prefer: handling=lenient`.", 3),
  keyed: count("Batches with an `Idempotency-Key`.", 3),
  compressed: {
    type: "object",
    description: "Batches by `Content-Encoding`.",
    additionalProperties: count("The number of batches.", 3),
    maxProperties: 16,
    examples: [{ gzip: 12 }],
  },
};

const LAST_SEEN_AT = "2026-06-01T15:04:11.120331Z";
const EVIDENCE = {
  from: timestamp("The report covers requests from this time on.", OPENED_AT),
  until: orNull(time("When the last request was received; null if there is none.", LAST_SEEN_AT)),
  isWhole: flag("False if there were more requests than a report covers; it then covers the newest.", true),
  hash: text(
    "The hash of the evidence: the same evidence gives the same report.",
    71,
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "^sha256:[0-9a-f]{64}$",
  ),
};

const PROPERTY = {
  clientCode: text("The client code.", 128, EXAMPLE_CLIENT),
  propertyCode: text("The property code.", 128, EXAMPLE_PROPERTY),
};

const REPORT = {
  certificationId: uuid("The id of the certification.", "3f0c2f6e-6a5e-4c0f-9b1d-5d2f7f6b8a10"),
  clientId: text("The certified client.", 128, "bhc_5Jr0aQz2mN8wXk3T"),
  property: objectOf(
    "The property of the examples; any other property granted to you works as well.",
    PROPERTY,
  ),
  openedAt: timestamp("When it was opened.", OPENED_AT),
  verdict: choice(
    "All steps passed, at least one failed, or some are still open.",
    ["certified", "failed", "incomplete"],
    "failed",
  ),
  steps: list(
    "Every step and its result.",
    100,
    component("CertificationStep", objectOf("A step of the checklist and its result.", STEP)),
  ),
  observed: objectOf("Further statistics; they do not affect the result.", OBSERVED),
  evidence: objectOf("The evidence of the report.", EVIDENCE),
};

const EXAMPLE_REPORT = exampleOf(REPORT, {
  property: exampleOf(PROPERTY),
  steps: [exampleOf(STEP, { requestIds: [] })],
  observed: exampleOf(OBSERVED),
  evidence: exampleOf(EVIDENCE, { until: LAST_SEEN_AT }),
});

const STANDING = component(
  "CertificationStanding",
  objectOf("Your certification.", {
    certification: componentOrNull(
      "Your newest certification; null if none was ever opened.",
      component("CertificationReport", objectOf("The result of a certification.", REPORT)),
    ),
  }),
);

function refuseFull(error: unknown): never {
  if (!(error instanceof SemaphoreFull)) throw error;
  throw new ServiceError("bellhop.http.RateLimitExceeded", {
    message: "Too many certification reports are waiting: send this again after Retry-After.",
    retryAfterSeconds: BUSY_RETRY_SECONDS,
  });
}

/** What certification works with, created once per thread. */
export interface CertificationContext {
  readonly pool: pg.Pool;
  /** Protocol events of clients under certification. */
  readonly wireNotes: WireNotes;
  /** Reports are read one at a time; clients take turns. */
  readonly reports: Semaphore;
}

/** The client's own certification. */
const certificationStatus = endpointOf<CertificationContext & AdmissionContext>()({
  method: "get",
  path: "/api/public/v1/certification",
  tag: "Requests",
  scopes: ["read"],
  operationId: "getCertification",
  summary: "Get certification status",
  description:
    "Each step of the checklist with its task and its result, based on the requests that Bellhop has received since the operator opened the certification. After a fix, repeat the step and send `since`, so that earlier errors do not count.",
  parameters: {
    since: instant("Only requests from this time on.", "2026-06-01T08:30:00Z"),
    until: instant("Only requests up to this time.", "2026-06-01T16:30:00Z"),
  },
  answer: jsonAnswer("The status.", STANDING, {
    failed: { certification: EXAMPLE_REPORT },
    none: { certification: null },
  }),
  async work({ context, request, reply, clientId, parameters: span }) {
    const { pool, wireNotes, reports } = context;
    checkOrder(span.since, span.until);
    // Events of other threads are visible from the next request on.
    await wireNotes.settled();
    const certification = await readFor(readingFor(reply.raw), async () => {
      const found = await findCertification(pool, clientId);
      return found === undefined ? null : reports.run(() => readReport(pool, found, span), clientId);
    }).catch(refuseFull);
    // The report and its turn may have taken long.
    await authorizeAgain(context, request);
    return { certification };
  },
});

export const CERTIFICATION_ENDPOINTS = [certificationStatus];
