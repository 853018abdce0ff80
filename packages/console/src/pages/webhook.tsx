import { Link } from "wouter";
import type { DeadLetterItem, WebhookAnswer, WebhookAttemptItem } from "../contract.ts";
import { tell } from "../data/call.ts";
import { useAnswer } from "../data/queries.ts";
import { failureInWords, writeCount, writeMany } from "../field/format.ts";
import { Button } from "../parts/button.tsx";
import { useDeed } from "../parts/deed.tsx";
import { Facts, Page, Section } from "../parts/page.tsx";
import { Answered, Empty, Failure, Notice } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Badge, Instant, RequestLink } from "../parts/values.tsx";
import { WebhookActions } from "./webhook/webhook-actions.tsx";
import { WebhookState } from "./webhooks.tsx";

const AGAIN_MS = 3_000;

const ATTEMPTS: readonly Column<WebhookAttemptItem>[] = [
  { head: "Attempted", lead: true, cell: ({ attemptedAt }) => <Instant at={attemptedAt} /> },
  { head: "Event", cell: ({ event }) => event },
  { head: "Attempt", end: true, cell: ({ attempt }) => writeCount(attempt) },
  { head: "Took", end: true, cell: ({ durationMs }) => `${writeCount(durationMs)} ms` },
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
    cell: ({ messageId }) => <span className="mono small nowrap">{messageId}</span>,
  },
];

const LETTERS: readonly Column<DeadLetterItem>[] = [
  { head: "Given up", lead: true, cell: ({ deadAt }) => <Instant at={deadAt} /> },
  { head: "Event", cell: ({ event }) => event },
  { head: "Created", cell: ({ createdAt }) => <Instant at={createdAt} /> },
  { head: "Attempts", end: true, cell: ({ attempts }) => writeCount(attempts) },
  {
    head: "Last failure",
    cell: ({ lastFailure }) => (lastFailure === null ? null : failureInWords(lastFailure)),
  },
  {
    head: "Of",
    cell: ({ event, cause }) => (event === "request.applied" ? <RequestLink requestId={cause} /> : null),
  },
];

/** One endpoint: how it stands, its delivery log and its dead letters. */
export function WebhookPage({ params }: { readonly params: { readonly endpointId: string } }) {
  const { endpointId } = params;
  const asked = useAnswer<WebhookAnswer>(`webhooks/${endpointId}`, { againMs: () => AGAIN_MS });
  const webhook = asked.data;
  return (
    <Page
      title={webhook?.url ?? "Webhook endpoint"}
      heading={<span className="break">{webhook?.url ?? "Webhook endpoint"}</span>}
      crumbs={[{ to: "/webhooks", text: "Webhooks" }]}
      actions={webhook === undefined ? undefined : <WebhookActions webhook={webhook} />}
    >
      <Answered asked={asked} lines={10}>
        {(answer) => <Webhook webhook={answer} />}
      </Answered>
    </Page>
  );
}

function Webhook({ webhook }: { readonly webhook: WebhookAnswer }) {
  const { kind, clientId, clientName, events, resource, clientCode, propertyCode } = webhook;
  return (
    <>
      <Trouble webhook={webhook} />
      <Facts
        facts={{
          State: <WebhookState state={webhook.state} />,
          Client: <Link to={`/clients/${clientId}`}>{clientName}</Link>,
          Events: kind === "reply-to" ? "requests whose ReplyTo names it" : events.join(", "),
          Resource: resource ?? "all",
          Properties:
            clientCode === null ? "all granted properties" : `${clientCode} / ${propertyCode ?? "all"}`,
          Waiting: writeCount(webhook.waiting),
          Created: <Instant at={webhook.createdAt} />,
        }}
      />
      <DeadLetters webhook={webhook} />
      <Section title="Delivery log">
        {webhook.attempts.length === 0 ? (
          <Empty title="No messages yet">Send a test to see whether it arrives.</Empty>
        ) : (
          <Table
            caption="Attempts, newest first"
            columns={ATTEMPTS}
            rows={webhook.attempts}
            keyOf={({ attemptId }) => String(attemptId)}
          />
        )}
      </Section>
    </>
  );
}

/** Why nothing arrives, where that is so. */
function Trouble({ webhook }: { readonly webhook: WebhookAnswer }) {
  const { state, pausedAt, pausedBy, pauseReason, failures, failingSince, droppedSince, dropped } = webhook;
  return (
    <>
      {state === "paused" ? (
        <Notice tone="warn" title={`Paused by ${pausedBy === "service" ? "the service" : pausedBy}`}>
          Since <Instant at={pausedAt} />. {pauseReason} Its messages wait.
        </Notice>
      ) : null}
      {state === "failing" ? (
        <Notice
          tone="bad"
          title={
            failures === 1 ? "The last attempt failed" : `The last ${writeCount(failures)} attempts failed`
          }
        >
          Since <Instant at={failingSince} />.
        </Notice>
      ) : null}
      {droppedSince === null ? null : (
        <Notice tone="bad" title={`${writeMany(dropped, "event")} dropped: the queue was full`}>
          Since <Instant at={droppedSince} />. The partner has to list its requests from then on.
        </Notice>
      )}
    </>
  );
}

function DeadLetters({ webhook }: { readonly webhook: WebhookAnswer }) {
  const deed = useDeed();
  if (webhook.deadLetters === 0) return null;
  const redrive = () =>
    deed.run(() => tell(`webhooks/${webhook.endpointId}/redrive`, {}), "The dead letters are sent again.");
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
