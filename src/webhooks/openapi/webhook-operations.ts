import { jsonAnswer, jsonContent, REFUSALS_OF_TOKEN, refusals } from "../../platform/http/openapi/errors.ts";
import { ratedHeadersOf } from "../../platform/http/openapi/headers.ts";
import type { Operation, Parameter, PathItem } from "../../platform/http/openapi/model.ts";
import { query } from "../../query/openapi/read-parameters.ts";
import { WEBHOOK_EXAMPLES } from "./webhook-schemas.ts";

/** Where a client's webhooks are managed. */
const WEBHOOKS_PATH = "/api/public/v1/webhooks";
const ENDPOINT = `${WEBHOOKS_PATH}/{endpointId}`;

const ENDPOINT_ID: Parameter = {
  name: "endpointId",
  in: "path",
  required: true,
  description: "The endpoint's id.",
  schema: {
    type: "string",
    format: "uuid",
    maxLength: 36,
    examples: ["0b6f0c1e-6e0d-4c56-9d0e-2f6a7c1b9e55"],
  },
};

/** How many attempts or dead letters a list has. */
export const WEBHOOK_LIMIT = query("limit", "How many at most.", {
  type: "integer",
  format: "int32",
  minimum: 1,
  maximum: 1000,
  default: 100,
  examples: [100],
});

/** What an operation is beside what all of them share. */
interface Definition {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly status?: 200 | 201 | 202;
  /** The name of its answer's schema. */
  readonly answer: string;
  readonly answered: string;
  /** The name of its body's schema. */
  readonly takes?: string;
  readonly isBodyNeeded?: boolean;
  readonly isOfEndpoint?: boolean;
  readonly isList?: boolean;
}

const exampleOf = (name: string) => ({ example: WEBHOOK_EXAMPLES[name] });

function operationOf({ status = 200, answer, answered, takes, ...definition }: Definition): Operation {
  const { isBodyNeeded = false, isOfEndpoint = true, isList = false, ...words } = definition;
  const headers = ratedHeadersOf("Cache-Control", ...(status === 201 ? (["Location"] as const) : []));
  const taken = takes === undefined ? undefined : jsonContent(takes, exampleOf(takes));
  const body = taken && { description: "What to do.", required: isBodyNeeded, content: taken };
  return {
    ...words,
    tags: ["Webhooks"],
    security: [{ oauth2: ["webhooks"] }],
    parameters: [...(isOfEndpoint ? [ENDPOINT_ID] : []), ...(isList ? [WEBHOOK_LIMIT] : [])],
    ...(body === undefined ? {} : { requestBody: body }),
    responses: {
      ...REFUSALS_OF_TOKEN,
      [status]: jsonAnswer(answered, answer, exampleOf(answer), headers),
      ...refusals({ 400: "InvalidParameter" }),
      ...(isOfEndpoint ? refusals({ 404: "WebhookNotFound" }) : {}),
      ...(body === undefined
        ? {}
        : refusals({ 413: "PayloadTooLarge", 415: "UnsupportedMediaType", 422: "InvalidWebhook" })),
    },
  };
}

const LIST = operationOf({
  operationId: "listWebhooks",
  summary: "List your webhook endpoints",
  description:
    "Every endpoint of this client and how it stands, those that `ReplyTo` headers brought among them.",
  answer: "WebhookList",
  answered: "Your endpoints.",
  isOfEndpoint: false,
});

const CREATE = operationOf({
  operationId: "createWebhook",
  summary: "Register a webhook endpoint",
  description:
    "From now on the address is told what happens, signed as Standard Webhooks says. The secret is in this answer and nowhere else. A client has ten endpoints at most.",
  status: 201,
  answer: "NewWebhookEndpoint",
  answered: "It is registered.",
  isOfEndpoint: false,
  takes: "WebhookForm",
  isBodyNeeded: true,
});

const READ = operationOf({
  operationId: "getWebhook",
  summary: "See how a webhook endpoint stands",
  description: "Its settings, what waits for it, and what came of the last try.",
  answer: "WebhookEndpoint",
  answered: "The endpoint.",
});

const CHANGED = { answer: "WebhookEndpoint", answered: "The endpoint as it is now." };

/** The verbs on one endpoint, all of them POST. */
const VERBS: Readonly<Record<string, Operation>> = {
  update: operationOf({
    operationId: "updateWebhook",
    summary: "Change a webhook endpoint",
    description: "What the body names is changed, the rest stays.",
    ...CHANGED,
    takes: "WebhookChanges",
  }),
  pause: operationOf({
    operationId: "pauseWebhook",
    summary: "Pause a webhook endpoint",
    description: "Nothing but tests is sent to it until it is resumed; up to 10,000 messages wait meanwhile.",
    ...CHANGED,
    takes: "WebhookPause",
  }),
  resume: operationOf({
    operationId: "resumeWebhook",
    summary: "Resume a webhook endpoint",
    description: "All that waits for it is tried now, whether it was paused or only failing.",
    ...CHANGED,
    takes: "WebhookNothing",
  }),
  remove: operationOf({
    operationId: "removeWebhook",
    summary: "Remove a webhook endpoint",
    description: "With all that waits for it, its dead letters and its delivery log.",
    answer: "WebhookRemoved",
    answered: "It is removed.",
    takes: "WebhookNothing",
  }),
  test: operationOf({
    operationId: "testWebhook",
    summary: "Test a webhook endpoint",
    description:
      "Sends a `webhook.test`, once, also to an endpoint that is paused. The delivery log tells what came of it.",
    status: 202,
    answer: "WebhookTest",
    answered: "The test is queued.",
    takes: "WebhookNothing",
  }),
  "rotate-secret": operationOf({
    operationId: "rotateWebhookSecret",
    summary: "Change the secret of a webhook endpoint",
    description:
      "Messages are signed with both for a day, or as long as you say; 0 when the former one leaked.",
    answer: "WebhookSecret",
    answered: "The new secret.",
    takes: "WebhookRotation",
  }),
  redrive: operationOf({
    operationId: "redriveWebhook",
    summary: "Try dead letters again",
    description: "One message, or all that were given up. They keep their `webhook-id`.",
    answer: "WebhookRedriven",
    answered: "They are queued.",
    takes: "WebhookRedrive",
  }),
};

const ATTEMPTS = operationOf({
  operationId: "listWebhookAttempts",
  summary: "Read the delivery log of a webhook endpoint",
  description: "Its newest tries; 500 are kept.",
  answer: "WebhookAttemptList",
  answered: "The newest tries.",
  isList: true,
});

const DEAD_LETTERS = operationOf({
  operationId: "listWebhookDeadLetters",
  summary: "List the dead letters of a webhook endpoint",
  description:
    "Messages that were given up after 11 tries in some 46 hours. The newest 1,000 are kept, for 30 days.",
  answer: "WebhookDeadLetterList",
  answered: "The newest dead letters.",
  isList: true,
});

/** What a client can do with its webhooks. */
export function webhookOperations(): Record<string, PathItem> {
  return {
    [WEBHOOKS_PATH]: { get: LIST, post: CREATE },
    [ENDPOINT]: { get: READ },
    ...Object.fromEntries(Object.entries(VERBS).map(([verb, post]) => [`${ENDPOINT}/${verb}`, { post }])),
    [`${ENDPOINT}/attempts`]: { get: ATTEMPTS },
    [`${ENDPOINT}/dead-letters`]: { get: DEAD_LETTERS },
  };
}
