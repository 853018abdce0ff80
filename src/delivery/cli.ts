import {
  choice,
  count,
  listText,
  type Noun,
  required,
  text,
  texts,
  type Verb,
  verb,
} from "../cli/command.ts";
import { type Columns, type Field, fields, itemTable, moment } from "../cli/output.ts";
import type { Opened } from "../cli/session.ts";
import { parseGrant } from "../identity/grants.ts";
import { EVERYTHING } from "../identity/scope.ts";
import { UsageError } from "../platform/errors/operator-error.ts";
import {
  ALERT_CONDITIONS,
  addSubscription,
  findSubscription,
  listMessages,
  listSubscriptions,
  NIGHTS_DEFAULT,
  pauseSubscription,
  placeOf,
  queueTest,
  removeSubscription,
  resumeSubscription,
  type Subscription,
  type SubscriptionInput,
  withDueTimes,
} from "./subscription.ts";

const ID = { subscriptionId: required(text("ID", "the subscription's id (bellhop subscription list)")) };
const EXAMPLE_ID = "01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11";
const SUBSCRIPTION_JSON =
  '{"subscriptionId", "operator", "email", "kind", "clientCode", "propertyCode", "localTime", "timeZone", "nights", "nextAt", "conditions", "pickupRooms", "openAlerts", "pausedAt", "pausedBy", ...}';
const OPERATOR = text("NAME", "only of this operator");

function codesOf(option: string, given: string): { clientCode: string; propertyCode: string } {
  const grant = parseGrant(given);
  if (typeof grant === "string") throw new UsageError(`${option}: ${grant}`);
  return grant;
}

interface Asked {
  readonly report: string | undefined;
  readonly at: string | undefined;
  readonly nights: number | undefined;
  readonly alerts: readonly string[];
  readonly of: string | undefined;
  readonly pickupRooms: number | undefined;
}

function inputOf({ report, at, nights, alerts, of, pickupRooms }: Asked): SubscriptionInput {
  if (report !== undefined)
    return { kind: "report", ...codesOf("--report", report), localTime: at, nights, pickupRooms };
  const input = { kind: "alerts", conditions: alerts, pickupRooms, localTime: at, nights };
  if (of === undefined || of === EVERYTHING) return input;
  const { clientCode, propertyCode } = codesOf("--of", of);
  return { ...input, clientCode, propertyCode: propertyCode === "*" ? undefined : propertyCode };
}

type Listed = Awaited<ReturnType<typeof withDueTimes>>[number];

const stateOf = ({ pausedAt, isOperatorDisabled }: Listed) =>
  pausedAt !== null ? "paused" : isOperatorDisabled ? "operator disabled" : "active";

const whenOf = ({ kind, localTime, timeZone, conditions }: Listed) =>
  kind === "report" ? `${localTime} ${timeZone}` : conditions.join(" ");

function subscriptionFields(one: Listed): Field[] {
  const address = one.email ?? "none: messages are kept in the console (bellhop operator set NAME --email)";
  return [
    ["subscription id", one.subscriptionId],
    ["operator", one.operator],
    ["e-mail", address],
    ["kind", one.kind],
    ["of", placeOf(one, EVERYTHING)],
    ["when", whenOf(one)],
    ["next", moment(one.nextAt)],
    ["state", stateOf(one)],
  ];
}

async function listedOf({ pool }: Opened, subscription: Subscription): Promise<Listed> {
  return (await withDueTimes(pool, [subscription], new Date()))[0] as Listed;
}

const create = verb({
  summary: "subscribe an operator to a property's daily report, or to alerts",
  args: { name: required(text("NAME", "the operator's name")) },
  options: {
    report: text("CLIENTCODE/PROPERTYCODE", "the daily report of this property"),
    at: text("HH:MM", "when the report is due, in the property's time zone"),
    nights: count(`nights of the report; by default ${NIGHTS_DEFAULT}`),
    alerts: texts("ALERT", `alerts instead of a report: ${listText(ALERT_CONDITIONS)}`),
    of: text(
      "CLIENTCODE/PROPERTYCODE|*",
      "only alerts of these properties; by default all of the operator's",
    ),
    pickupRooms: count("rooms of one business day at which the alert pickup begins"),
  },
  examples: [
    "subscription create anna --report ACME/LON01 --at 07:00",
    'subscription create anna --alerts silent --alerts pickup --pickup-rooms 20 --of "ACME/*"',
  ],
  json: SUBSCRIPTION_JSON,
  check({ report, alerts, of }) {
    if ((report === undefined) === (alerts.length === 0)) throw new UsageError("Name --report or --alerts.");
    if (report !== undefined && of !== undefined) throw new UsageError("--of is for --alerts.");
  },
  async database({ name, ...asked }, opened, { output }) {
    const id = await addSubscription(opened, name, inputOf(asked));
    const made = await listedOf(opened, await findSubscription(opened.pool, id));
    output.result(made, ["Subscription created.\n", ...fields(subscriptionFields(made))]);
  },
});

const list = verb({
  summary: "list subscriptions",
  options: { operator: OPERATOR },
  examples: ["subscription list", "subscription list --operator anna --json"],
  json: `{"items": [${SUBSCRIPTION_JSON}]}`,
  async database({ operator }, { pool }, { output }) {
    const found = await listSubscriptions(pool, {
      operators: operator === undefined ? undefined : [operator],
    });
    const items = await withDueTimes(pool, found, new Date());
    const columns: Columns<Listed> = {
      ID: "subscriptionId",
      OPERATOR: "operator",
      KIND: "kind",
      OF: (one) => placeOf(one, EVERYTHING),
      WHEN: whenOf,
      NEXT: "nextAt",
      "OPEN ALERTS": "openAlerts",
      STATE: stateOf,
    };
    output.result({ items }, itemTable(columns, items, "No subscriptions."));
  },
});

const STATES = ["waiting", "sent", "kept", "failed", "dropped"] as const;

const messages = verb({
  summary: "list the newest 100 messages and how they were delivered",
  options: { operator: OPERATOR, state: choice("STATE", STATES, "only messages in this state") },
  examples: ["subscription messages", "subscription messages --state failed"],
  json: '{"items": [{"messageId", "subscriptionId", "operator", "kind", "occasion", "subject", "state", "attempts", "createdAt", "settledAt", "result", "hasBody"}]}',
  async database({ operator, state }, { pool }, { output }) {
    const found = await listMessages(pool, { operators: operator === undefined ? undefined : [operator] });
    const items = found.filter((one) => state === undefined || one.state === state);
    const columns = {
      TIME: "createdAt",
      OPERATOR: "operator",
      OCCASION: "occasion",
      STATE: "state",
      ATTEMPTS: "attempts",
      RESULT: "result",
      SUBJECT: "subject",
    } as const;
    output.result({ items }, itemTable(columns, items, "No messages."));
  },
});

function change(
  name: string,
  summary: string,
  work: (opened: Opened, subscription: Subscription) => Promise<unknown>,
  done: string,
): Verb {
  return verb({
    summary,
    args: ID,
    examples: [`subscription ${name} ${EXAMPLE_ID}`],
    json: '{"subscriptionId"}',
    async database({ subscriptionId }, opened, { output }) {
      await work(opened, await findSubscription(opened.pool, subscriptionId));
      output.result({ subscriptionId }, done);
    },
  });
}

export const command: Noun = {
  verbs: {
    create,
    list,
    messages,
    test: change(
      "test",
      "have the running service send the current content",
      ({ pool }, subscription) => queueTest(pool, subscription),
      "A test is queued. bellhop subscription messages shows its result.",
    ),
    pause: change("pause", "pause a subscription; what waits is dropped", pauseSubscription, "Paused."),
    resume: change(
      "resume",
      "resume a subscription; conditions that hold are sent again",
      resumeSubscription,
      "Resumed.",
    ),
    remove: change(
      "remove",
      "remove a subscription with its messages and alerts",
      removeSubscription,
      "Removed, with its messages.",
    ),
  },
};
