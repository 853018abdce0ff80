import type pg from "pg";
import { Scope } from "../identity/scope.ts";
import { alertMessage } from "./alert-message.ts";
import type { MessageContent } from "./message.ts";
import { type ReportQuestion, reportMessage } from "./report-message.ts";
import { NIGHTS_DEFAULT, placeOf, type Subscription } from "./subscription.ts";

/** A message that is due. */
export interface DueMessage {
  readonly messageId: string;
  readonly subscriptionId: string;
  readonly occasion: string;
  /** This attempt's number. */
  readonly attempts: number;
}

/** A report for a subscription; other reports, as of a portfolio, have the same form. */
export type ReportSource = (
  pool: pg.Pool,
  question: ReportQuestion,
  baseUrl: string,
  now: Date,
) => Promise<Omit<MessageContent, "notes">>;

/** A message, or why there is none. */
type Composed =
  | { readonly content: MessageContent; readonly dropped?: never }
  | { readonly dropped: string; readonly content?: never };

const isTest = ({ occasion }: Pick<DueMessage, "occasion">): boolean => occasion.startsWith("test:");

function notesOf(subscription: Subscription, isOfTest: boolean): string[] {
  const { operator, kind, conditions, localTime } = subscription;
  const place = placeOf(subscription, "all your properties");
  const what =
    kind === "report"
      ? `the daily report of ${place} at ${localTime}`
      : `alerts (${conditions.join(", ")}) of ${place}`;
  return [
    `${isOfTest ? "This is a test. " : ""}The operator ${operator} is subscribed to ${what}.`,
    "It stops when the subscription is paused or removed, or when the operator may no longer see the property.",
  ];
}

/** The alerts of a message, or of a test all open ones, that the operator may see now. */
export async function composeAlerts(
  pool: pg.Pool,
  subscription: Subscription,
  due: DueMessage,
  baseUrl: string,
): Promise<Composed> {
  const content = await alertMessage(pool, subscription, isTest(due) ? null : due.messageId, baseUrl);
  if (content === undefined) return { dropped: "The operator may no longer see the properties." };
  return { content: { ...content, notes: notesOf(subscription, isTest(due)) } };
}

/** Composes a message for what its operator may see now. */
export async function compose(
  pool: pg.Pool,
  subscription: Subscription,
  due: DueMessage,
  baseUrl: string,
  report: ReportSource = reportMessage,
): Promise<Composed> {
  const { kind, clientCode, propertyCode, nights, grants, isOperatorDisabled, pausedAt } = subscription;
  if (isOperatorDisabled) return { dropped: "The operator is disabled." };
  if (pausedAt !== null && !isTest(due)) return { dropped: "The subscription is paused." };
  if (kind === "alerts") return composeAlerts(pool, subscription, due, baseUrl);
  const codes = { clientCode: clientCode ?? "", propertyCode: propertyCode ?? "" };
  if (!new Scope(grants).permits(codes.clientCode, codes.propertyCode))
    return { dropped: "The operator may no longer see the property." };
  const content = await report(pool, { ...codes, nights: nights ?? NIGHTS_DEFAULT }, baseUrl, new Date());
  return { content: { ...content, notes: notesOf(subscription, isTest(due)) } };
}
