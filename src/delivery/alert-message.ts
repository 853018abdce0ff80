import type pg from "pg";
import { Scope } from "../identity/scope.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { countText } from "../platform/runtime/amounts.ts";
import { settingsOfClients } from "../settings/property-settings.ts";
import { type AlertDetail, isCovered } from "./alerts.ts";
import type { AlertCondition } from "./console-answers.ts";
import { type MessageContent, type MessageTable, subjectOf } from "./message.ts";
import { writeDate } from "./report-message.ts";
import type { Subscription } from "./subscription.ts";

/** Alerts of message $1, or (null) the open ones of subscription $2. Plan: an index scan of each. */
const READ = namedStatement(
  "read-alerts-of-message",
  `select property.client_code as "clientCode", property.property_code as "propertyCode", alert.condition, alert.detail,
    alert.began_at as "beganAt", alert.ended_at as "endedAt", alert.began_message = $1 as "isBegin", alert.ended_message = $1 as "isEnd"
  from bellhop.alert as alert
  join bellhop.property as property on property.property_id = alert.property_id
  where alert.alert_id in (
    select alert_id from bellhop.alert where began_message = $1
    union select alert_id from bellhop.alert where ended_message = $1
    union select alert_id from bellhop.alert where $1::uuid is null and subscription_id = $2 and ended_at is null
  )
  order by property.client_code, property.property_code, alert.alert_id
  limit 5000`,
);

interface AlertRow {
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly condition: AlertCondition;
  readonly detail: AlertDetail;
  readonly beganAt: Date;
  readonly endedAt: Date | null;
  readonly isBegin: boolean | null;
  readonly isEnd: boolean | null;
}

/** Further ones are counted. */
const ROWS_MAX = 100;

const CONDITION_NAMES: Readonly<Record<AlertCondition, string>> = {
  silent: "Silent feed",
  quarantine: "Records in quarantine",
  variance: "Inventory and reservations differ",
  unmapped: "Unmapped status",
  pickup: "Pickup",
};

const signed = (rooms: number) => (rooms > 0 ? `+${rooms}` : String(rooms));

/** What an alert says, in the words of the console. */
function describe({ condition, detail }: AlertRow, timeZone: string): string {
  const {
    resource,
    lastReceivedAt,
    cadenceHours,
    records = 0,
    nights = 0,
    rooms = 0,
    day = "",
    threshold,
  } = detail;
  switch (condition) {
    case "silent":
      return `No batch of ${resource} since ${writeInstant(lastReceivedAt ?? null, timeZone)}; one is expected every ${cadenceHours} h. Figures are as old.`;
    case "quarantine":
      return `${records >= COUNTED_MAX ? "1,000 or more records wait for a decision and are" : countText(records, "record waits for a decision and is", "records wait for a decision and are")} not in the figures.`;
    case "variance":
      return `${countText(nights, "night")} of the next 30, by ${countText(rooms, "room")} in total.`;
    case "unmapped":
      return "Reservations or groups have a status without a mapping, and are not on the books.";
    case "pickup":
      return `${signed(rooms)} rooms on ${writeDate(day)}, for the next 30 nights; your threshold is ${threshold}.`;
  }
}

/** The portfolio counts up to this many. */
const COUNTED_MAX = 1_000;

function writeInstant(instant: string | Date | null, timeZone: string): string {
  if (instant === null) return "–";
  const format = new Intl.DateTimeFormat("en-GB", {
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
    timeZone,
    timeZoneName: "short",
  });
  return format.format(new Date(instant));
}

interface Shown {
  readonly row: AlertRow;
  readonly property: string;
  readonly timeZone: string;
}

function tableOf(title: string, alerts: readonly Shown[], hasEnd: boolean): MessageTable[] {
  if (alerts.length === 0) return [];
  const rest = alerts.length - ROWS_MAX;
  return [
    {
      title: rest > 0 ? `${title}: ${ROWS_MAX}, and ${rest} more in the console` : title,
      columns: [
        { head: "Property" },
        { head: "Alert" },
        { head: hasEnd ? "What it was" : "What is the case" },
        { head: "Since" },
        ...(hasEnd ? [{ head: "Until" }] : []),
      ],
      rows: alerts
        .slice(0, ROWS_MAX)
        .map(({ row, property, timeZone }) => [
          property,
          CONDITION_NAMES[row.condition],
          describe(row, timeZone),
          writeInstant(row.beganAt, timeZone),
          ...(hasEnd ? [writeInstant(row.endedAt, timeZone)] : []),
        ]),
    },
  ];
}

/** `Silent feed at Grand Zürich`, `3 alerts began, 1 ended` */
function summaryOf(begins: readonly Shown[], ends: readonly Shown[]): string {
  const [first] = [...begins, ...ends];
  if (begins.length + ends.length === 1 && first !== undefined) {
    const what = `${CONDITION_NAMES[first.row.condition]} at ${first.property}`;
    return begins.length === 1 ? what : `Ended: ${what}`;
  }
  const parts = [
    begins.length > 0 ? `${countText(begins.length, "alert")} began` : [],
    ends.length > 0 ? `${begins.length > 0 ? ends.length : countText(ends.length, "alert")} ended` : [],
  ];
  return parts.flat().join(", ");
}

async function readShown(
  pool: pg.Pool,
  subscription: Subscription,
  messageId: string | null,
): Promise<Shown[]> {
  const { rows } = await pool.query<AlertRow>({ ...READ, values: [messageId, subscription.subscriptionId] });
  const scope = new Scope(subscription.grants);
  const seen = rows.filter((row) => isCovered(scope, subscription, row));
  const settings = await settingsOfClients(pool, [...new Set(seen.map(({ clientCode }) => clientCode))]);
  return seen.map((row) => {
    const { name, timeZone } = settings.get(row.clientCode)?.of(row.propertyCode) ?? {
      name: null,
      timeZone: "UTC",
    };
    return { row, property: name ?? `${row.clientCode} / ${row.propertyCode}`, timeZone };
  });
}

/**
 * The alerts that a message reports, or (null) all open ones of the subscription; undefined if its operator may see none of them any more.
 */
export async function alertMessage(
  pool: pg.Pool,
  subscription: Subscription,
  messageId: string | null,
  baseUrl: string,
): Promise<Omit<MessageContent, "notes"> | undefined> {
  const shown = await readShown(pool, subscription, messageId);
  const begins = shown.filter(({ row }) => messageId === null || row.isBegin === true);
  const ends = shown.filter(({ row }) => row.isEnd === true);
  if (messageId !== null && shown.length === 0) return undefined;
  const summary = shown.length === 0 ? "No alert is open" : summaryOf(begins, ends);
  return {
    subject: subjectOf(summary),
    title: summary,
    lead: [],
    tables: [...tableOf("Began", begins, false), ...tableOf("Ended", ends, true)],
    link: { text: "Open the portfolio", address: `${baseUrl}/console/?attention=any` },
  };
}
