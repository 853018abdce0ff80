import { useState } from "react";
import type {
  AlertCondition,
  ListedSubscription,
  MessageItem,
  PortfolioAnswer,
  SubscriptionsAnswer,
} from "../contract.ts";
import { CONSOLE_API } from "../contract.ts";
import { addressOf, post, useAnswer, useSession } from "../data/queries.ts";
import { writeMany } from "../field/format.ts";
import { Button } from "../parts/button.tsx";
import { FormDialog, FormDialogButton, typed } from "../parts/dialog.tsx";
import { InputField, SelectField } from "../parts/field.tsx";
import { type Column, Table } from "../parts/list.tsx";
import { Answered, Empty, Failure, Notice, Page, Section } from "../parts/page.tsx";
import { Badge, Instant, Who } from "../parts/values.tsx";

const CONDITIONS: Readonly<Record<AlertCondition, string>> = {
  silent: "silent feed",
  quarantine: "records in quarantine",
  variance: "inventory and reservations differ",
  unmapped: "unmapped status",
  pickup: "pickup of a business day",
};

const STATES: Readonly<Record<MessageItem["state"], string>> = {
  waiting: "waiting",
  sent: "sent",
  kept: "kept here",
  failed: "failed",
  dropped: "dropped",
};

/** Of a page of the portfolio: a longer list is no choice. */
const PROPERTIES_MAX = 1_000;
const ROOMS_DEFAULT = "10";

/** `all properties`, `ACME`, `ACME / LON01` */
function placeOf({
  clientCode,
  propertyCode,
}: Pick<ListedSubscription, "clientCode" | "propertyCode">): string {
  if (clientCode === null) return "all properties";
  return propertyCode === null ? clientCode : `${clientCode} / ${propertyCode}`;
}

function whatOf({ kind, nights, conditions, pickupRooms }: ListedSubscription): string {
  if (kind === "report") return `Daily report, ${writeMany(nights ?? 0, "night")}`;
  const words = conditions.map((one) =>
    one === "pickup"
      ? `${CONDITIONS.pickup} of ${writeMany(pickupRooms ?? 0, "room")} or more`
      : CONDITIONS[one],
  );
  return `Alerts: ${words.join(", ")}`;
}

function StateOf({ of: { pausedAt, pausedBy, isOperatorDisabled } }: { of: ListedSubscription }) {
  if (pausedAt !== null)
    return (
      <>
        <Badge icon="off">paused</Badge> by <Who who={pausedBy ?? ""} />, <Instant at={pausedAt} as="ago" />
      </>
    );
  return isOperatorDisabled ? <Badge icon="off">operator disabled</Badge> : "active";
}

function WhenOf({ of: { kind, localTime, timeZone, nextAt, openAlerts } }: { of: ListedSubscription }) {
  if (kind === "alerts")
    return openAlerts === 0 ? "when one begins or ends" : `${writeMany(openAlerts, "alert")} open now`;
  return (
    <>
      {localTime} in {timeZone}
      {nextAt !== null && (
        <span className="muted">
          {" "}
          (next <Instant at={nextAt} />)
        </span>
      )}
    </>
  );
}

const MESSAGES: readonly Column<MessageItem>[] = [
  { head: "Planned", lead: true, cell: ({ createdAt }) => <Instant at={createdAt} /> },
  { head: "To", cell: ({ operator }) => operator },
  {
    head: "Subject",
    prose: true,
    cell: ({ subject, messageId, hasBody, kind }) =>
      hasBody ? (
        <a href={`${CONSOLE_API}/subscriptions/messages/${messageId}`} target="_blank" rel="noopener">
          {subject === "" ? "Open" : subject}
        </a>
      ) : (
        subject || (kind === "report" ? "Daily report" : "Alerts")
      ),
  },
  {
    head: "State",
    cell: ({ state }) => (state === "failed" ? <Badge tone="bad">failed</Badge> : STATES[state]),
  },
  {
    head: "Result",
    prose: true,
    cell: ({ result, attempts }) =>
      attempts > 1 ? `${result} (${writeMany(attempts, "attempt")})` : result === "" ? null : result,
  },
];

const AGAIN_MS = 5_000;

export function SubscriptionsPage() {
  const asked = useAnswer<SubscriptionsAnswer>("subscriptions", { againMs: () => AGAIN_MS });
  return (
    <Page
      title="Reports and alerts"
      lead="The daily report of a property at its local time, and alerts when something needs attention."
      actions={
        <>
          <NewReportButton />
          <NewAlertsButton />
        </>
      }
    >
      <Answered asked={asked}>
        {(answer) => (
          <>
            <WhereTo of={answer} />
            <Section
              title="Subscriptions"
              aside={
                answer.isMailConfigured &&
                answer.email !== null && <p className="muted">Yours are sent to {answer.email}.</p>
              }
            >
              <Subscriptions items={answer.items} />
            </Section>
            <Section title="Recent deliveries">
              <Table
                caption="Deliveries, newest first"
                columns={MESSAGES}
                rows={answer.messages}
                keyOf={({ messageId }) => messageId}
                empty={<Empty title="Nothing was delivered yet">Send a test to see what you get.</Empty>}
              />
            </Section>
          </>
        )}
      </Answered>
    </Page>
  );
}

function WhereTo({ of: { isMailConfigured, email } }: { of: SubscriptionsAnswer }) {
  if (!isMailConfigured)
    return (
      <Notice title="Messages are kept on this page">
        No mail server is configured (<a href="/docs/delivery#for-operators">SMTP_URL</a>).
      </Notice>
    );
  if (email === null)
    return (
      <Notice title="Messages are kept on this page">
        Your account has no e-mail address. An admin sets it: Operators, your name, e-mail.
      </Notice>
    );
  return null;
}

function Subscriptions({ items }: { items: SubscriptionsAnswer["items"] }) {
  const own = useSession().data?.operator?.name;
  const [opened, setOpened] = useState<ListedSubscription>();
  const columns: readonly Column<ListedSubscription>[] = [
    {
      head: "What",
      lead: true,
      prose: true,
      cell: (of) => (
        <Button kind="quiet" onClick={() => setOpened(of)}>
          {whatOf(of)}
        </Button>
      ),
    },
    { head: "Of", cell: placeOf },
    {
      head: "Who",
      cell: ({ operator }) => (
        <>
          {operator} {operator === own && <span className="muted">(you)</span>}
        </>
      ),
    },
    { head: "When", prose: true, cell: (of) => <WhenOf of={of} /> },
    { head: "State", prose: true, cell: (of) => <StateOf of={of} /> },
  ];
  return (
    <>
      <Table
        caption="Subscriptions, oldest first"
        columns={columns}
        rows={items}
        keyOf={({ subscriptionId }) => subscriptionId}
        empty={
          <Empty title="No subscriptions yet">
            A daily report comes every morning; an alert comes when its condition begins, and when it ended.
          </Empty>
        }
      />
      {opened !== undefined && <Opened of={opened} onClose={() => setOpened(undefined)} />}
    </>
  );
}

function Opened({ of, onClose }: { of: ListedSubscription; onClose: () => void }) {
  const path = `subscriptions/${of.subscriptionId}`;
  const isPaused = of.pausedAt !== null;
  const change = (name: string) => post(`${path}/${name}`, {});
  return (
    <FormDialog
      title={whatOf(of)}
      text={`Of ${placeOf(of)}, for ${of.operator}. It stops when it is paused or removed, and when ${of.operator} may no longer see the properties.`}
      button={isPaused ? "Resume" : "Pause"}
      done={isPaused ? "Resumed." : "Paused."}
      onSubmit={() => change(isPaused ? "resume" : "pause")}
      onClose={onClose}
      actions={(deed) => (
        <>
          <Button
            busy={deed.busy}
            onClick={() => deed.run(() => change("test").then(onClose), "A test is on its way.")}
          >
            Send a test
          </Button>
          <Button
            kind="danger"
            busy={deed.busy}
            onClick={() => deed.run(() => change("remove").then(onClose), "Removed.")}
          >
            Remove
          </Button>
        </>
      )}
    />
  );
}

interface PlaceFieldProps {
  /** What else than one property may be chosen. */
  readonly hasWider?: boolean;
}

const codesOf = (form: FormData): { clientCode?: string; propertyCode?: string } =>
  JSON.parse(typed(form, "place") || "{}") as { clientCode?: string; propertyCode?: string };

/** Properties by name; its values are JSON, as codes may have any character. */
function PlaceField({ hasWider = false }: PlaceFieldProps) {
  const asked = useAnswer<PortfolioAnswer>(addressOf("portfolio", { limit: PROPERTIES_MAX }));
  const items = asked.data?.items ?? [];
  const clientCodes = [...new Set(items.map(({ clientCode }) => clientCode))];
  const properties = items.map(({ clientCode, propertyCode, name }) => {
    const codes = `${clientCode} / ${propertyCode}`;
    return [
      JSON.stringify({ clientCode, propertyCode }),
      name === null ? codes : `${name} (${codes})`,
    ] as const;
  });
  const wider = [
    ["{}", "All my properties"] as const,
    ...clientCodes.map(
      (clientCode) => [JSON.stringify({ clientCode }), `${clientCode}: all properties`] as const,
    ),
  ];
  return (
    <>
      <Failure error={asked.error} />
      <SelectField
        // Rendered again when options arrive, to apply the selection.
        key={items.length}
        name="place"
        label={hasWider ? "Properties" : "Property"}
        options={[...(hasWider ? wider : [["", "Choose a property"] as const]), ...properties]}
        required
      />
    </>
  );
}

function NewReportButton() {
  const submit = (form: FormData) =>
    post("subscriptions", {
      kind: "report",
      ...codesOf(form),
      localTime: typed(form, "localTime"),
      nights: Number(typed(form, "nights")),
    });
  return (
    <FormDialogButton
      opener="New report…"
      openerKind="main"
      title="New daily report"
      text="Sent once a day, with an Excel file."
      button="Subscribe"
      done="Subscribed."
      onSubmit={submit}
    >
      <PlaceField />
      <InputField
        name="localTime"
        label="Time"
        hint="In the property's time zone."
        type="time"
        required
        defaultValue="07:00"
      />
      <InputField name="nights" label="Nights" type="number" min={1} max={365} required defaultValue="30" />
    </FormDialogButton>
  );
}

function NewAlertsButton() {
  const submit = (form: FormData) => {
    const conditions = form.getAll("conditions").map(String);
    const rooms = Number(typed(form, "pickupRooms"));
    return post("subscriptions", {
      kind: "alerts",
      ...codesOf(form),
      conditions,
      ...(conditions.includes("pickup") && { pickupRooms: rooms }),
    });
  };
  return (
    <FormDialogButton
      opener="New alerts…"
      title="New alerts"
      text="Each is sent once when it begins and once when it ended. What is the case now is sent at once."
      button="Subscribe"
      done="Subscribed."
      onSubmit={submit}
    >
      <PlaceField hasWider />
      <fieldset className="field">
        <legend>Alerts</legend>
        <div className="checks">
          {Object.entries(CONDITIONS).map(([condition, text]) => (
            <label key={condition} className="check">
              <input
                type="checkbox"
                name="conditions"
                value={condition}
                defaultChecked={condition !== "pickup"}
              />
              {text}
            </label>
          ))}
        </div>
      </fieldset>
      <InputField
        name="pickupRooms"
        label="Pickup of at least"
        hint="Rooms of one business day, up or down, for the next 30 nights."
        type="number"
        min={1}
        max={10_000}
        required
        defaultValue={ROOMS_DEFAULT}
      />
    </FormDialogButton>
  );
}
