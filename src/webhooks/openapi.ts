import { RESOURCES } from "#contract/resource.ts";
import { EXAMPLE_REQUEST_ID } from "../ingest/openapi/data-operations.ts";
import type { Schema } from "../platform/http/openapi/model.ts";
import {
  choice,
  component,
  count,
  exampleOf,
  flag,
  formOf,
  list,
  objectOf,
  orNull,
  text,
  time,
  uuid,
} from "../platform/http/openapi/schema.ts";
import { WEBHOOK_EVENTS } from "./message.ts";

const EXAMPLE_INSTANT = "2026-06-01T08:30:02.149Z";
const EXAMPLE_SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDazfgh4ggWQk=";
const EXAMPLE_ID = "0b6f0c1e-6e0d-4c56-9d0e-2f6a7c1b9e55";
const EXAMPLE_WEBHOOK_ID = "msg_5f0c1e0b6e0d4c569d0e2f6a7c1b9e55";
const LINE = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$";

const code = (description: string, example: string): Schema => ({
  ...orNull(text(description, 128, example, LINE)),
  minLength: 1,
});

const instant = (description: string) => time(description, EXAMPLE_INSTANT);
const instantOrNull = (description: string) => orNull(instant(description));

const EVENT_MEANINGS = {
  "changes.available": "Records have changed: the changes, up to 100 in a message, in order.",
  "request.applied": "A batch of yours is applied: how many of its records have each outcome.",
} as const satisfies Record<(typeof WEBHOOK_EVENTS)[number], string>;

const ENDPOINT_ID: Schema = uuid("The endpoint's id.", EXAMPLE_ID);

const WEBHOOK_ID: Schema = text(
  "The `webhook-id` of a message, the same for every attempt.",
  36,
  EXAMPLE_WEBHOOK_ID,
  "^msg_[0-9a-f]{32}$",
);

const EVENT: Schema = text("The event of the message.", 64, "request.applied", "^[a-z]+\\.[a-z]+$");

const SECRET: Schema = text(
  "The secret that signs messages. It is shown only once.",
  128,
  EXAMPLE_SECRET,
  "^whsec_[A-Za-z0-9+/]+=*$",
);

const SETTINGS: Readonly<Record<string, Schema>> = {
  url: text(
    "The address that receives messages: https, public, on port 443, 80, or 1024 and above.",
    2048,
    "https://partner.example/bellhop",
    "^https://[^\\s/?#@]+([/?][^\\s#]*)?$",
  ),
  description: text("Your own description.", 200, "Night audit", LINE),
  events: {
    type: "array",
    minItems: 1,
    maxItems: WEBHOOK_EVENTS.length,
    description: "The events it receives.",
    items: choice("An event.", WEBHOOK_EVENTS, "request.applied", EVENT_MEANINGS),
  },
  resource: {
    type: ["string", "null"],
    enum: [...RESOURCES, null],
    description: "Only changes of this resource; null for all.",
    examples: ["reservations"],
  },
  clientCode: code("Only changes of this client code; null for all client codes granted to you.", "HTEX07"),
  propertyCode: code("Only changes of this property; requires its `clientCode`.", "LON01"),
};

const STATUS = orNull(count("The HTTP status of the last response; null if there was none.", 204));
const FAILURE = orNull(
  text("Why the last attempt failed, as a stable code; null if it succeeded.", 64, "TimedOut"),
);

const ENDPOINT: Readonly<Record<string, Schema>> = {
  endpointId: ENDPOINT_ID,
  kind: choice(
    "`reply-to`: created automatically for an origin that your `ReplyTo` headers name.",
    ["webhook", "reply-to"],
    "webhook",
  ),
  ...SETTINGS,
  // As serialized by the URL Standard: longer in ASCII, and with characters that RFC 3986 escapes, so it has no format. http is accepted in
  // networks allowed by the operator.
  url: {
    ...SETTINGS["url"],
    maxLength: 18_432,
    pattern: "^https?://[^\\s/?#@]+([/?][^\\s#]*)?$",
  },
  state: choice(
    "`failing`: its last attempt failed. `paused`: nothing is sent to it; `pausedBy` says who paused it.",
    ["active", "failing", "paused"],
    "active",
  ),
  pausedBy: {
    type: ["string", "null"],
    enum: ["client", "operator", "service", null],
    description: "Who paused it.",
    examples: [null],
  },
  pausedAt: instantOrNull("When it was paused."),
  pauseReason: orNull(text("Why it is paused.", 256, "It answered 410 Gone.")),
  failures: count("Failed attempts since the last successful one."),
  failingSince: instantOrNull("When the first of these occurred."),
  waiting: count("Waiting messages; 10,001 means more than 10,000."),
  waitingSince: instantOrNull("When the oldest of them was created."),
  deadLetters: count("The number of dead letters kept."),
  dropped: count(
    "Events dropped since the endpoint was last resumed, because 10,000 messages were waiting: list your requests for them.",
  ),
  droppedSince: instantOrNull("When the first of these occurred."),
  lastTryAt: instantOrNull("When the last attempt was made."),
  lastStatus: STATUS,
  lastFailure: FAILURE,
  createdAt: instant("When it was registered."),
};

const ATTEMPT: Readonly<Record<string, Schema>> = {
  webhookId: WEBHOOK_ID,
  event: EVENT,
  attempt: count("The number of the attempt, from 1.", 1),
  attemptedAt: instant("When it began."),
  durationMs: count("Its duration in milliseconds.", 84),
  status: STATUS,
  failure: FAILURE,
};

const DEAD_LETTER: Readonly<Record<string, Schema>> = {
  webhookId: WEBHOOK_ID,
  event: EVENT,
  cause: text(
    "The request that it reports, or the change feed cursor after which its changes begin.",
    2048,
    EXAMPLE_REQUEST_ID,
  ),
  createdAt: instant("When the message was created."),
  deadAt: instant("When it was given up."),
  attempts: count("The number of delivery attempts.", 11),
  lastFailure: FAILURE,
};

function listOf(description: string, item: Schema): Schema {
  return objectOf(description, { items: list("The items.", 1000, item) });
}

const OPTIONAL = ["description", "resource", "clientCode", "propertyCode"];

const ENDPOINT_SCHEMA = objectOf("A webhook endpoint and its state.", ENDPOINT);
const ATTEMPT_SCHEMA = objectOf("A delivery attempt.", ATTEMPT);
const DEAD_LETTER_SCHEMA = objectOf("A message that was given up.", DEAD_LETTER);

export const WEBHOOK_SCHEMAS = {
  WebhookForm: formOf("The definition of a webhook endpoint.", SETTINGS, ...OPTIONAL),
  WebhookChanges: formOf(
    "The settings to change; omitted settings keep their values.",
    SETTINGS,
    ...Object.keys(SETTINGS),
  ),
  WebhookEndpoint: ENDPOINT_SCHEMA,
  WebhookRegistered: objectOf("An endpoint that was just registered, with its secret.", {
    ...ENDPOINT,
    secret: SECRET,
  }),
  WebhookList: listOf("Your endpoints, oldest first.", component("WebhookEndpoint", ENDPOINT_SCHEMA)),
  WebhookPause: formOf(
    "Options for pausing an endpoint.",
    { reason: text("The reason.", 200, "Moving house", LINE) },
    "reason",
  ),
  WebhookNothing: {
    type: "object",
    description: "The operation takes no options; the body may be empty.",
    properties: {},
    additionalProperties: false,
  },
  WebhookRemoved: objectOf("The endpoint has been removed.", {
    endpointId: ENDPOINT_ID,
    removed: flag("Always true.", true),
  }),
  WebhookTestQueued: objectOf("The test is queued; the delivery log will show its attempt.", {
    webhookId: WEBHOOK_ID,
  }),
  WebhookRotation: formOf(
    "Options for rotating the secret.",
    {
      overlapSeconds: {
        type: "integer",
        format: "int32",
        minimum: 0,
        maximum: 2_592_000,
        default: 86_400,
        description: "How long messages are also signed with the former secret.",
        examples: [86_400],
      },
    },
    "overlapSeconds",
  ),
  WebhookSecret: objectOf("A new secret.", {
    secret: SECRET,
    previousExpiresAt: instantOrNull("Until then messages are also signed with the former secret."),
  }),
  WebhookAttempt: ATTEMPT_SCHEMA,
  WebhookAttemptList: listOf("Delivery attempts, newest first.", component("WebhookAttempt", ATTEMPT_SCHEMA)),
  WebhookDeadLetter: DEAD_LETTER_SCHEMA,
  WebhookDeadLetterList: listOf(
    "Dead letters, newest first.",
    component("WebhookDeadLetter", DEAD_LETTER_SCHEMA),
  ),
  WebhookRedrive: formOf(
    "Which dead letters to queue again; all of them by default.",
    { webhookId: WEBHOOK_ID },
    "webhookId",
  ),
  WebhookRedriven: objectOf("The messages are queued again with the same ids.", {
    redriven: count("The number of messages queued.", 3),
  }),
} as const satisfies Record<string, Schema>;

export type WebhookSchema = keyof typeof WEBHOOK_SCHEMAS;

const REGISTERED = { description: "", createdAt: "2026-06-01T08:00:00.000Z" };
const TRIED = { ...REGISTERED, lastTryAt: EXAMPLE_INSTANT, lastStatus: 204 };
const GIVEN_UP = { createdAt: "2026-05-30T08:00:00.000Z", lastFailure: "TimedOut" };

/** Examples of bodies and responses by schema name. */
export const WEBHOOK_EXAMPLES: Readonly<Partial<Record<WebhookSchema, unknown>>> = {
  WebhookForm: { url: "https://partner.example/bellhop", events: ["request.applied"] },
  WebhookChanges: { events: ["request.applied", "changes.available"] },
  WebhookEndpoint: exampleOf(ENDPOINT, TRIED),
  WebhookRegistered: { ...exampleOf(ENDPOINT, REGISTERED), secret: EXAMPLE_SECRET },
  WebhookList: { items: [exampleOf(ENDPOINT, TRIED)] },
  WebhookPause: { reason: "Moving house" },
  WebhookNothing: {},
  WebhookRemoved: { endpointId: EXAMPLE_ID, removed: true },
  WebhookTestQueued: { webhookId: EXAMPLE_WEBHOOK_ID },
  WebhookRotation: { overlapSeconds: 86_400 },
  WebhookSecret: { secret: EXAMPLE_SECRET, previousExpiresAt: "2026-06-02T08:30:02.149Z" },
  WebhookAttemptList: { items: [exampleOf(ATTEMPT, { status: 204 })] },
  WebhookDeadLetterList: { items: [exampleOf(DEAD_LETTER, GIVEN_UP)] },
  WebhookRedrive: {},
  WebhookRedriven: { redriven: 3 },
};
