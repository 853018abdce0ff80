import { useState } from "react";
import { Link, useLocation } from "wouter";
import type {
  DeadLetterItem,
  WebhookAnswer,
  WebhookAttemptItem,
  WebhookItem,
  WebhookSecretAnswer,
  WebhooksAnswer,
} from "../contract.ts";
import { addressOf, post, useAnswer } from "../data/queries.ts";
import { failureInWords, shortId, writeCount, writeDuration, writeMany } from "../field/format.ts";
import { Button } from "../parts/button.tsx";
import { FormDialogButton, SecretDialog, typed, useDeed } from "../parts/dialog.tsx";
import { InputField, SelectField } from "../parts/field.tsx";
import { type Column, ExportButtons, figure, ListPage, Table } from "../parts/list.tsx";
import { DetailPage, Empty, Facts, Failure, Notice, Section } from "../parts/page.tsx";
import { Badge, Instant, RequestLink, Who } from "../parts/values.tsx";
import { useFilters } from "../routing/filters.ts";
import { ClientField, ClientFilter } from "./clients.tsx";

const AGAIN_MS = 5_000;

function WebhookState({ state }: { state: WebhookItem["state"] }) {
  if (state === "active") return "active";
  return <Badge tone={state === "failing" ? "bad" : "warn"}>{state}</Badge>;
}

const COLUMNS: readonly Column<WebhookItem>[] = [
  {
    head: "Address",
    lead: true,
    cell: ({ endpointId, url }) => (
      <Link to={`/webhooks/${endpointId}`} className="break">
        {url}
      </Link>
    ),
  },
  {
    head: "Client",
    cell: ({ clientId, clientName }) => <Link to={`/clients/${clientId}`}>{clientName}</Link>,
  },
  {
    head: "Events",
    prose: true,
    cell: ({ kind, events }) => (kind === "reply-to" ? "ReplyTo" : events.join(", ")),
  },
  { head: "State", cell: ({ state }) => <WebhookState state={state} /> },
  figure("Waiting", ({ waiting }) => waiting, writeCount),
  figure("Dead letters", ({ deadLetters }) => deadLetters, writeCount),
  { head: "Last attempt", cell: ({ lastTryAt }) => <Instant at={lastTryAt} as="ago" /> },
  { head: "Result", cell: ({ lastStatus, lastFailure }) => resultOf(lastStatus, lastFailure) },
];

/** The result of the last attempt: `delivered`, `timed out`, `not accepted (503)`. */
function resultOf(status: number | null, failure: string | null): string | null {
  if (failure === null) return status === null ? null : "delivered";
  return status === null ? failureInWords(failure) : `${failureInWords(failure)} (${status})`;
}

export function WebhooksPage() {
  const clientId = useFilters().filters.get("clientId") ?? "";
  const address = addressOf("webhooks", { clientId });
  const asked = useAnswer<WebhooksAnswer>(address, { againMs: () => AGAIN_MS });
  const [made, setMade] = useState<WebhookSecretAnswer>();
  return (
    <ListPage
      title="Webhooks"
      lead="The endpoints that partners are notified at, and the state of their deliveries."
      actions={<NewWebhookButton clientId={clientId} onDone={setMade} />}
      asked={{ ...asked, whole: address }}
      filters={<ClientFilter />}
      caption="Webhook endpoints, oldest first"
      columns={COLUMNS}
      keyOf={({ endpointId }) => endpointId}
      noun={["endpoint"]}
      empty={
        <Empty title={clientId === "" ? "No endpoints yet" : "This client has no endpoint"}>
          Partners register their own with the scope webhooks; you can register one for them here.
        </Empty>
      }
      csv="endpointId kind url description clientId clientName events resource clientCode propertyCode state pausedAt pausedBy pauseReason failures failingSince waiting waitingSince deadLetters dropped droppedSince lastTryAt lastStatus lastFailure createdAt"
    >
      {made !== undefined && <WebhookSecretDialog made={made} onClose={() => setMade(undefined)} />}
    </ListPage>
  );
}

const WEBHOOK_AGAIN_MS = 3_000;

const ATTEMPTS_CSV = "attemptedAt event messageId url attempt durationMs status failure answer";
const ATTEMPTS: readonly Column<WebhookAttemptItem>[] = [
  { head: "Attempted", lead: true, cell: ({ attemptedAt }) => <Instant at={attemptedAt} /> },
  { head: "Event", cell: ({ event }) => event },
  figure("Attempt", ({ attempt }) => attempt, writeCount),
  { head: "Duration", end: true, cell: ({ durationMs }) => writeDuration(durationMs / 1000) },
  { head: "Status", end: true, cell: ({ status }) => (status === null ? "" : String(status)) },
  {
    head: "Result",
    cell: ({ failure }) =>
      failure === null ? "delivered" : <Badge tone="bad">{failureInWords(failure)}</Badge>,
  },
  {
    head: "Response",
    prose: true,
    cell: ({ answer }) => (answer === "" ? null : <span className="break">{answer}</span>),
  },
  {
    head: "Message",
    cell: ({ messageId }) => (
      <span className="mono small nowrap" title={messageId}>
        {shortId(messageId)}
      </span>
    ),
  },
];

const LETTERS: readonly Column<DeadLetterItem>[] = [
  { head: "Dead since", lead: true, cell: ({ deadAt }) => <Instant at={deadAt} /> },
  { head: "Event", cell: ({ event }) => event },
  { head: "Created", cell: ({ createdAt }) => <Instant at={createdAt} /> },
  figure("Attempts", ({ attempts }) => attempts, writeCount),
  {
    head: "Last failure",
    cell: ({ lastFailure }) => (lastFailure === null ? null : failureInWords(lastFailure)),
  },
  {
    head: "Request",
    cell: ({ event, cause }) => (event === "request.applied" ? <RequestLink requestId={cause} /> : null),
  },
];

export function WebhookPage({ params }: { params: { endpointId: string } }) {
  const { endpointId } = params;
  const asked = useAnswer<WebhookAnswer>(`webhooks/${endpointId}`, { againMs: () => WEBHOOK_AGAIN_MS });
  const title = asked.data?.url ?? "Webhook endpoint";
  return (
    <DetailPage
      title={title}
      heading={<span className="break">{title}</span>}
      crumbs={[{ to: "/webhooks", text: "Webhooks" }]}
      asked={asked}
      actions={(webhook) => <WebhookActions webhook={webhook} />}
    >
      {(webhook) => <Webhook webhook={webhook} />}
    </DetailPage>
  );
}

function Webhook({ webhook }: { webhook: WebhookAnswer }) {
  const { kind, clientId, clientName, events, resource, clientCode, propertyCode } = webhook;
  return (
    <>
      <Trouble webhook={webhook} />
      <Facts
        facts={{
          Description: webhook.description,
          State: <WebhookState state={webhook.state} />,
          Client: <Link to={`/clients/${clientId}`}>{clientName}</Link>,
          Events: kind === "reply-to" ? "requests whose ReplyTo names it" : events.join(", "),
          Resource: resource ?? "all",
          Properties:
            clientCode === null ? "all granted properties" : `${clientCode} / ${propertyCode ?? "all"}`,
          Waiting: (
            <>
              {writeMany(webhook.waiting, "message")}
              {webhook.waitingSince !== null && (
                <>
                  {" since "}
                  <Instant at={webhook.waitingSince} />
                </>
              )}
            </>
          ),
          Created: <Instant at={webhook.createdAt} />,
        }}
      />
      <DeadLetters webhook={webhook} />
      <Section
        title="Delivery log"
        aside={<ExportButtons name="deliveries" csv={ATTEMPTS_CSV} of={webhook.attempts} />}
      >
        <Table
          caption="Attempts, newest first"
          columns={ATTEMPTS}
          rows={webhook.attempts}
          empty={<Empty title="No messages yet">Send a test event to verify delivery.</Empty>}
          keyOf={({ attemptId }) => String(attemptId)}
        />
      </Section>
    </>
  );
}

function Trouble({ webhook }: { webhook: WebhookAnswer }) {
  const { state, pausedAt, pausedBy, pauseReason, failures, failingSince, droppedSince, dropped } = webhook;
  return (
    <>
      {state === "paused" && (
        <Notice tone="warn" title="Paused">
          {pausedBy !== null && <Who who={pausedBy} clientName={webhook.clientName} />} paused it. Since{" "}
          <Instant at={pausedAt} />. {pauseReason} Its messages wait.
        </Notice>
      )}
      {state === "failing" && (
        <Notice
          tone="bad"
          title={
            failures === 1 ? "The last attempt failed" : `The last ${writeCount(failures)} attempts failed`
          }
        >
          Since <Instant at={failingSince} />.
        </Notice>
      )}
      {droppedSince !== null && (
        <Notice tone="bad" title={`${writeMany(dropped, "event")} dropped: the queue was full`}>
          Since <Instant at={droppedSince} />. The partner has to list its requests from then on.
        </Notice>
      )}
    </>
  );
}

function DeadLetters({ webhook }: { webhook: WebhookAnswer }) {
  const deed = useDeed();
  if (webhook.deadLetters === 0) return null;
  const redrive = () =>
    deed.run(() => post(`webhooks/${webhook.endpointId}/redrive`, {}), "The dead letters are sent again.");
  return (
    <Section
      title={`Dead letters (${writeCount(webhook.deadLetters)})`}
      aside={
        <Button busy={deed.busy} onClick={redrive}>
          Try all again
        </Button>
      }
    >
      <Failure error={deed.error} />
      <Table
        caption="Dead letters, newest first"
        columns={LETTERS}
        rows={webhook.newestDeadLetters}
        keyOf={({ messageId }) => messageId}
      />
    </Section>
  );
}

const EVENTS = {
  "request.applied": "applied batches",
  "changes.available": "changed records",
  "changes.available request.applied": "both",
};

interface NewWebhookProps {
  readonly clientId: string;
  readonly onDone: (answer: WebhookSecretAnswer) => void;
}

function NewWebhookButton({ clientId, onDone }: NewWebhookProps) {
  const submit = async (form: FormData) => {
    const events = typed(form, "events").split(" ");
    const request = { clientId: typed(form, "clientId"), url: typed(form, "url"), events };
    onDone(await post<WebhookSecretAnswer>("webhooks", request));
  };
  return (
    <FormDialogButton
      opener="New endpoint…"
      openerKind="main"
      title="New endpoint"
      button="Register"
      onSubmit={submit}
    >
      <ClientField chosen={clientId} />
      <InputField
        name="url"
        label="Address"
        hint="A public https address."
        required
        type="url"
        placeholder="https://partner.example/bellhop"
      />
      <SelectField name="events" label="Events" options={EVENTS} />
    </FormDialogButton>
  );
}

function WebhookActions({ webhook }: { webhook: WebhookAnswer }) {
  const [made, setMade] = useState<WebhookSecretAnswer>();
  const [, go] = useLocation();
  const deed = useDeed();
  const path = `webhooks/${webhook.endpointId}`;
  const verb = (name: string, done: string) => () => deed.run(() => post(`${path}/${name}`, {}), done);
  const rotate = async () =>
    setMade(await post<WebhookSecretAnswer>(`${path}/rotate`, { overlapSeconds: 86_400 }));
  return (
    <>
      <Failure error={deed.error} />
      <Button busy={deed.busy} onClick={verb("test", "A test message is on its way.")}>
        Send a test
      </Button>
      {webhook.state === "active" ? (
        <Button busy={deed.busy} onClick={verb("pause", "The endpoint is paused. Its messages wait.")}>
          Pause
        </Button>
      ) : (
        <Button busy={deed.busy} onClick={verb("resume", "The waiting messages are sent now.")}>
          {webhook.state === "paused" ? "Resume" : "Try now"}
        </Button>
      )}
      <FormDialogButton
        opener="New secret…"
        title="Rotate the secret?"
        text="For a day, messages are signed with both secrets, so that the partner can change over."
        button="Create a new secret"
        onSubmit={rotate}
      />
      <FormDialogButton
        opener="Remove…"
        title="Remove the endpoint?"
        text="Its waiting messages, dead letters and delivery log are removed with it."
        button="Remove"
        danger
        onSubmit={() => post(`${path}/remove`, {}).then(() => go("/webhooks"))}
      />
      {made !== undefined && <WebhookSecretDialog made={made} onClose={() => setMade(undefined)} />}
    </>
  );
}

function WebhookSecretDialog({ made, onClose }: { made: WebhookSecretAnswer; onClose: () => void }) {
  return (
    <SecretDialog
      title="The endpoint's secret"
      warning="Hand it over on a secure channel. Anyone who has it can forge messages of the service."
      secret={made.secret}
      onClose={onClose}
    >
      {made.previousExpiresAt !== null && (
        <p className="muted">
          Messages are also signed with the previous secret until <Instant at={made.previousExpiresAt} />.
        </p>
      )}
    </SecretDialog>
  );
}
