import { RESOURCES } from "#contract/resource.ts";
import { EXAMPLE_REQUEST_ID } from "../ingest/openapi/data-operations.ts";
import { jsonAnswer, jsonContent, REFUSALS_OF_TOKEN, refusals } from "../platform/http/openapi/errors.ts";
import { ratedHeadersOf } from "../platform/http/openapi/headers.ts";
import {
  type Operation,
  type Parameter,
  type PathItem,
  type Schema,
  schemaOf,
} from "../platform/http/openapi/model.ts";
import {
  choice,
  count,
  flag,
  formOf,
  list,
  objectOf,
  orNull,
  text,
  time,
  uuid,
} from "../platform/http/openapi/schema.ts";
import { query } from "../query/openapi/read-parameters.ts";
import { WEBHOOK_EVENTS } from "./message.ts";

const EXAMPLE_INSTANT = "2026-06-01T08:30:02.149Z";
const EXAMPLE_SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDazfgh4ggWQk=";

/** A text of the client's own, shown on one line. */
function line(description: string, charactersMax: number, example: string): Schema {
  return { ...text(description, charactersMax, example), pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$" };
}

const code = (description: string, example: string): Schema => ({
  ...orNull(line(description, 128, example)),
  minLength: 1,
});

const instant = (description: string) => time(description, EXAMPLE_INSTANT);

const EVENT_MEANINGS = {
  "changes.available": "Records have changed: the changes, up to 100 in a message, in order.",
  "request.applied": "A batch of yours is applied: how many of its records have each outcome.",
} as const satisfies Record<(typeof WEBHOOK_EVENTS)[number], string>;

const ENDPOINT_ID: Schema = uuid("The endpoint's id.", "0b6f0c1e-6e0d-4c56-9d0e-2f6a7c1b9e55");

const WEBHOOK_ID: Schema = text(
  "The `webhook-id` of a message, the same with every try.",
  36,
  "msg_5f0c1e0b6e0d4c569d0e2f6a7c1b9e55",
  "^msg_[0-9a-f]{32}$",
);

const EVENT: Schema = text("What a message tells of.", 64, "request.applied", "^[a-z]+\\.[a-z]+$");

const SECRET: Schema = {
  ...text("The secret that messages are signed with. It is shown here and never again.", 128, EXAMPLE_SECRET),
  pattern: "^whsec_[A-Za-z0-9+/]+=*$",
};

const SETTINGS: Readonly<Record<string, Schema>> = {
  url: text(
    "Where messages go: https, to a public address, on port 443, 80 or from 1024 on.",
    2048,
    "https://partner.example/bellhop",
    "^https://[^\\s/?#@]+([/?][^\\s#]*)?$",
  ),
  description: line("Words of your own.", 200, "Night audit"),
  events: {
    type: "array",
    minItems: 1,
    maxItems: WEBHOOK_EVENTS.length,
    description: "What it is told.",
    items: choice("An event.", WEBHOOK_EVENTS, "request.applied", EVENT_MEANINGS),
  },
  resource: {
    type: ["string", "null"],
    enum: [...RESOURCES, null],
    description: "Changes of this resource alone; null for all.",
    examples: ["reservations"],
  },
  clientCode: code("Changes of this client code alone; null for all that you were granted.", "HTEX07"),
  propertyCode: code("Changes of this property of the client code alone; needs its `clientCode`.", "LON01"),
};

const STANDS: Readonly<Record<string, Schema>> = {
  state: choice(
    "How it stands: `failing` since its last try was not taken, `paused` by somebody or by itself.",
    ["active", "failing", "paused"],
    "active",
  ),
  pausedBy: {
    type: ["string", "null"],
    enum: ["client", "operator", "service", null],
    description: "Who paused it.",
    examples: [null],
  },
  pausedAt: orNull(instant("Since when it is paused.")),
  pauseReason: orNull(text("Why it is paused.", 256, "It answered 410 Gone.")),
  failures: count("Tries that were not taken since the last one that was."),
  failingSince: orNull(instant("When the first of those was.")),
  waiting: count("Messages that wait; 10,001 for more than 10,000."),
  waitingSince: orNull(instant("When the oldest of them was made.")),
  deadLetters: count("Messages that were given up and are kept."),
  dropped: count(
    "Events that found 10,000 messages waiting, since it was resumed last: list your requests for them.",
  ),
  droppedSince: orNull(instant("When the first of those was.")),
  lastTryAt: orNull(instant("When a message was tried last.")),
  lastStatus: orNull(count("The HTTP status of that try's answer; null where there was none.", 204)),
  lastFailure: orNull(
    text("Why that try was not good, as a stable word; null where it was.", 64, "TimedOut"),
  ),
  createdAt: instant("When it was registered."),
};

const ENDPOINT: Readonly<Record<string, Schema>> = {
  endpointId: ENDPOINT_ID,
  kind: choice(
    "`reply-to` stands for an origin that your `ReplyTo` headers name, and was made by itself.",
    ["webhook", "reply-to"],
    "webhook",
  ),
  ...SETTINGS,
  // As a URL is written in ASCII, which makes it longer. Within a network that an operator opened, http is accepted too.
  url: {
    ...SETTINGS["url"],
    format: "uri",
    maxLength: 18_432,
    pattern: "^https?://[^\\s/?#@]+([/?][^\\s#]*)?$",
  },
  ...STANDS,
};

const ATTEMPT: Readonly<Record<string, Schema>> = {
  webhookId: WEBHOOK_ID,
  event: EVENT,
  attempt: count("Which try of the message it was, from 1.", 1),
  attemptedAt: instant("When it began."),
  durationMs: count("How long it took, in milliseconds.", 84),
  status: STANDS["lastStatus"] as Schema,
  failure: STANDS["lastFailure"] as Schema,
};

const DEAD_LETTER: Readonly<Record<string, Schema>> = {
  webhookId: WEBHOOK_ID,
  event: EVENT,
  cause: text(
    "The request that it tells of, or the cursor of the change feed behind which its changes begin.",
    2048,
    EXAMPLE_REQUEST_ID,
  ),
  createdAt: instant("When it was made."),
  deadAt: instant("When it was given up."),
  attempts: count("How often it was tried.", 11),
  lastFailure: STANDS["lastFailure"] as Schema,
};

function listOf(description: string, name: string): Schema {
  return objectOf(description, {
    items: list("They.", 1000, schemaOf(name)),
  });
}

/** What the addresses of webhooks take and answer. */
export const WEBHOOK_SCHEMAS: Readonly<Record<string, Schema>> = {
  WebhookForm: formOf(
    "What an endpoint is to be.",
    SETTINGS,
    "description",
    "resource",
    "clientCode",
    "propertyCode",
  ),
  WebhookChanges: formOf(
    "What to change of an endpoint; what is left out stays.",
    SETTINGS,
    ...Object.keys(SETTINGS),
  ),
  WebhookEndpoint: objectOf("Where you are told what happened, and how that stands.", ENDPOINT),
  NewWebhookEndpoint: objectOf("An endpoint that was just registered, with its secret.", {
    ...ENDPOINT,
    secret: SECRET,
  }),
  WebhookList: listOf("Your endpoints, the oldest first.", "WebhookEndpoint"),
  WebhookPause: formOf(
    "Why it is paused.",
    { reason: line("Words of your own.", 200, "Moving house") },
    "reason",
  ),
  WebhookNothing: {
    type: "object",
    description: "Nothing more is to be said.",
    properties: {},
    additionalProperties: false,
  },
  WebhookRemoved: objectOf("It is gone.", {
    endpointId: ENDPOINT_ID,
    removed: flag("Always true.", true),
  }),
  WebhookTest: objectOf("The test is queued; its try will be in the delivery log.", {
    webhookId: WEBHOOK_ID,
  }),
  WebhookRotation: formOf(
    "How to change the secret.",
    {
      overlapSeconds: {
        type: "integer",
        format: "int32",
        minimum: 0,
        maximum: 2_592_000,
        default: 86_400,
        description: "For so long messages are signed with the former secret too.",
        examples: [86_400],
      },
    },
    "overlapSeconds",
  ),
  WebhookSecret: objectOf("A new secret.", {
    secret: SECRET,
    previousExpiresAt: orNull(instant("Until then messages are signed with the former one too.")),
  }),
  WebhookAttempt: objectOf("One try.", ATTEMPT),
  WebhookAttemptList: listOf("Tries, the newest first.", "WebhookAttempt"),
  WebhookDeadLetter: objectOf("A message that was given up.", DEAD_LETTER),
  WebhookDeadLetterList: listOf("Dead letters, the newest first.", "WebhookDeadLetter"),
  WebhookRedrive: formOf(
    "Which dead letters to try again; all of them, where none is named.",
    { webhookId: WEBHOOK_ID },
    "webhookId",
  ),
  WebhookRedriven: objectOf("They are queued again, with the ids they had.", {
    redriven: count("How many.", 3),
  }),
};

const SETTINGS_EXAMPLE = {
  url: "https://partner.example/bellhop",
  description: "",
  events: ["request.applied"],
  resource: null,
  clientCode: null,
  propertyCode: null,
};

const ENDPOINT_EXAMPLE = {
  endpointId: "0b6f0c1e-6e0d-4c56-9d0e-2f6a7c1b9e55",
  kind: "webhook",
  ...SETTINGS_EXAMPLE,
  state: "active",
  pausedBy: null,
  pausedAt: null,
  pauseReason: null,
  failures: 0,
  failingSince: null,
  waiting: 0,
  waitingSince: null,
  deadLetters: 0,
  dropped: 0,
  droppedSince: null,
  lastTryAt: EXAMPLE_INSTANT,
  lastStatus: 204,
  lastFailure: null,
  createdAt: "2026-06-01T08:00:00.000Z",
};

const ATTEMPT_EXAMPLE = {
  webhookId: "msg_5f0c1e0b6e0d4c569d0e2f6a7c1b9e55",
  event: "request.applied",
  attempt: 1,
  attemptedAt: EXAMPLE_INSTANT,
  durationMs: 84,
  status: 204,
  failure: null,
};

/** An example of each, by the name of its schema. */
const WEBHOOK_EXAMPLES: Readonly<Record<string, unknown>> = {
  WebhookForm: { url: SETTINGS_EXAMPLE.url, events: SETTINGS_EXAMPLE.events },
  WebhookChanges: { events: ["request.applied", "changes.available"] },
  WebhookEndpoint: ENDPOINT_EXAMPLE,
  NewWebhookEndpoint: { ...ENDPOINT_EXAMPLE, lastTryAt: null, lastStatus: null, secret: EXAMPLE_SECRET },
  WebhookList: { items: [ENDPOINT_EXAMPLE] },
  WebhookPause: { reason: "Moving house" },
  WebhookNothing: {},
  WebhookRemoved: { endpointId: ENDPOINT_EXAMPLE.endpointId, removed: true },
  WebhookTest: { webhookId: ATTEMPT_EXAMPLE.webhookId },
  WebhookRotation: { overlapSeconds: 86_400 },
  WebhookSecret: { secret: EXAMPLE_SECRET, previousExpiresAt: "2026-06-02T08:30:02.149Z" },
  WebhookAttemptList: { items: [ATTEMPT_EXAMPLE] },
  WebhookDeadLetterList: {
    items: [
      {
        webhookId: ATTEMPT_EXAMPLE.webhookId,
        event: "request.applied",
        cause: EXAMPLE_REQUEST_ID,
        createdAt: "2026-05-30T08:00:00.000Z",
        deadAt: EXAMPLE_INSTANT,
        attempts: 11,
        lastFailure: "TimedOut",
      },
    ],
  },
  WebhookRedrive: {},
  WebhookRedriven: { redriven: 3 },
};

/** Where a client's webhooks are managed. */
const WEBHOOKS_PATH = "/api/public/v1/webhooks";
const ENDPOINT_PATH = `${WEBHOOKS_PATH}/{endpointId}`;

const ENDPOINT_PARAMETER: Parameter = {
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
    parameters: [...(isOfEndpoint ? [ENDPOINT_PARAMETER] : []), ...(isList ? [WEBHOOK_LIMIT] : [])],
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
    [ENDPOINT_PATH]: { get: READ },
    ...Object.fromEntries(
      Object.entries(VERBS).map(([verb, post]) => [`${ENDPOINT_PATH}/${verb}`, { post }]),
    ),
    [`${ENDPOINT_PATH}/attempts`]: { get: ATTEMPTS },
    [`${ENDPOINT_PATH}/dead-letters`]: { get: DEAD_LETTERS },
  };
}
