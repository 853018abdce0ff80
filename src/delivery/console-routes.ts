import type { FastifyInstance } from "fastify";
import type pg from "pg";
import { CODE_CHARACTERS_MAX } from "#contract/schema/field.ts";
import type { ConsoleParts } from "../console/console-parts.ts";
import { type Asked, addChange, addQuestion, type Form } from "../console/console-routes.ts";
import type { OperatorSession } from "../identity/operator-sessions.ts";
import { listOperators } from "../identity/operators.ts";
import { isAllowed } from "../identity/roles.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { NotFoundError } from "../platform/errors/operator-error.ts";
import { isUuid } from "../platform/http/position.ts";
import { composeAlerts } from "./compose.ts";
import { asHtml } from "./message.ts";
import {
  addSubscription,
  findSubscription,
  isWithin,
  listMessages,
  listSubscriptions,
  pauseSubscription,
  queueTest,
  removeSubscription,
  resumeSubscription,
  type Subscription,
  withDueTimes,
} from "./subscription.ts";

const READ_EMAIL = namedStatement(
  "read-email-of-operator",
  `select email from bellhop.operator where name = $1`,
);
/** Message $1, if it was kept. */
const READ_KEPT = namedStatement(
  "read-kept-message",
  `select message_id as "messageId", subscription_id as "subscriptionId", occasion, attempts, body_html as html
  from bellhop.subscription_message where message_id = $1 and state = 'kept'`,
);

const CREATE_FIELDS = [
  "kind",
  "clientCode",
  "propertyCode",
  "localTime",
  "nights",
  "conditions",
  "pickupRooms",
];

/** A message is a document of its own: inline styles, and nothing that runs or is loaded. */
const MESSAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-popups allow-top-navigation-by-user-activation";

/** Whose subscriptions an operator sees: their own, and those of operators that they may manage; undefined: all. */
async function operatorsOf(
  pool: pg.Pool,
  { name, role, scope }: OperatorSession,
): Promise<readonly string[] | undefined> {
  if (!isAllowed(role, "manage-operators")) return [name];
  if (scope.isEverything) return undefined;
  return [...new Set([name, ...(await listOperators(pool, scope)).map((one) => one.name)])];
}

/** A SubscriptionsAnswer; JSON serializes its dates as strings. */
async function describe(pool: pg.Pool, operator: OperatorSession, isMailConfigured: boolean) {
  const operators = await operatorsOf(pool, operator);
  const found = await listSubscriptions(pool, { operators });
  const { rows } = await pool.query<{ email: string | null }>({ ...READ_EMAIL, values: [operator.name] });
  return {
    items: await withDueTimes(pool, found, new Date()),
    messages: await listMessages(pool, { operators }),
    isMailConfigured,
    email: rows[0]?.email ?? null,
  };
}

const NO_MESSAGE = "No kept message has this id.";

/** A kept message as a page. What the operator may no longer see is not found; alerts are those that the operator may see now. */
async function messageAsHtml(pool: pg.Pool, { operator, named }: Asked, baseUrl: string): Promise<string> {
  const { messageId = "" } = named;
  const { rows } = isUuid(messageId)
    ? await pool.query<{
        messageId: string;
        subscriptionId: string;
        occasion: string;
        attempts: number;
        html: string | null;
      }>({ ...READ_KEPT, values: [messageId] })
    : { rows: [] };
  const [kept] = rows;
  if (kept === undefined) throw new NotFoundError(NO_MESSAGE);
  const operators = await operatorsOf(pool, operator);
  const subscription = await findSubscription(pool, kept.subscriptionId, { operators });
  if (!isWithin(operator.scope, subscription)) throw new NotFoundError(NO_MESSAGE);
  if (subscription.kind === "report") {
    if (kept.html === null) throw new NotFoundError(NO_MESSAGE);
    return kept.html;
  }
  const { content } = await composeAlerts(pool, subscription, kept, baseUrl);
  if (content === undefined) throw new NotFoundError(NO_MESSAGE);
  return asHtml(content, undefined);
}

async function create(pool: pg.Pool, { body, operator, who }: Form): Promise<void> {
  await addSubscription({ pool, who }, operator.name, {
    kind: body.requiredText("kind"),
    clientCode: body.text("clientCode", CODE_CHARACTERS_MAX),
    propertyCode: body.text("propertyCode", CODE_CHARACTERS_MAX),
    localTime: body.text("localTime"),
    nights: body.count("nights"),
    conditions: body.texts("conditions"),
    pickupRooms: body.count("pickupRooms"),
  });
}

/** Adds the console's equivalents of `bellhop subscription`, and the messages that were kept. Operators subscribe only themselves. */
export function addSubscriptionRoutes(
  scope: FastifyInstance,
  parts: ConsoleParts,
  isMailConfigured: boolean,
): void {
  const { pool } = parts.context;
  addQuestion(scope, parts, { permission: "read-data", path: "subscriptions" }, ({ operator }) =>
    describe(pool, operator, isMailConfigured),
  );
  addQuestion(
    scope,
    parts,
    { permission: "read-data", path: "subscriptions/messages/:messageId" },
    async (asked) => {
      const html = await messageAsHtml(pool, asked, parts.baseUrl());
      return asked.reply
        .header("content-security-policy", MESSAGE_POLICY)
        .type("text/html; charset=utf-8")
        .send(html);
    },
  );
  addChange(
    scope,
    parts,
    { permission: "read-data", path: "subscriptions", fields: CREATE_FIELDS },
    async (form) => {
      await create(pool, form);
      return describe(pool, form.operator, isMailConfigured);
    },
  );
  const change = (
    verb: string,
    work: (admin: { pool: pg.Pool; who: string }, subscription: Subscription) => Promise<unknown>,
  ) =>
    addChange(
      scope,
      parts,
      { permission: "read-data", path: `subscriptions/:subscriptionId/${verb}` },
      async ({ operator, named, who }) => {
        const operators = await operatorsOf(pool, operator);
        await work({ pool, who }, await findSubscription(pool, named["subscriptionId"] ?? "", { operators }));
        return describe(pool, operator, isMailConfigured);
      },
    );
  change("pause", pauseSubscription);
  change("resume", resumeSubscription);
  change("remove", removeSubscription);
  change("test", (_, subscription) => queueTest(pool, subscription));
}
