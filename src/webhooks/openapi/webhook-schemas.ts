import { RESOURCES } from "#contract/resource.ts";
import { EXAMPLE_REQUEST_ID } from "../../ingest/openapi/data-operations.ts";
import { type Schema, schemaOf } from "../../platform/http/openapi/model.ts";
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
} from "../../platform/http/openapi/schema.ts";
import { WEBHOOK_EVENTS } from "../message.ts";

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
export const WEBHOOK_EXAMPLES: Readonly<Record<string, unknown>> = {
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
