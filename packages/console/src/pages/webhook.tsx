import { Link, useLocation } from "wouter";
import type { DeadLetterItem, WebhookAnswer, WebhookAttemptItem } from "../contract.ts";
import { tell } from "../data/call.ts";
import { useAnswer } from "../data/queries.ts";
import { writeCount, writeMany } from "../field/amounts.ts";
import { failureInWords } from "../field/failure-words.ts";
import { shortId } from "../field/short-id.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Facts } from "../parts/figures.tsx";
import { Instant } from "../parts/instant.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Answered, Empty, Failure, Notice } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { useSay } from "../parts/toast.tsx";
import { useDeed } from "../parts/use-deed.ts";
import { WebhookActions } from "./webhook/webhook-actions.tsx";
import { WebhookState } from "./webhooks.tsx";

const AGAIN_MS = 3_000;

const ATTEMPTS: readonly Column<WebhookAttemptItem>[] = [
  { head: "Tried", lead: true, cell: ({ attemptedAt }) => <Instant at={attemptedAt} /> },
  { head: "Event", cell: ({ event }) => event },
  { head: "Try", end: true, cell: ({ attempt }) => writeCount(attempt) },
  { head: "Took", end: true, cell: ({ durationMs }) => `${writeCount(durationMs)} ms` },
  { head: "Status", end: true, cell: ({ status }) => (status === null ? "" : String(status)) },
  {
    head: "Came to",
    cell: ({ failure }) =>
      failure === null ? "delivered" : <Badge tone="bad">{failureInWords(failure)}</Badge>,
  },
  {
    head: "Answered",
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
  { head: "Made", cell: ({ createdAt }) => <Instant at={createdAt} /> },
  { head: "Tries", end: true, cell: ({ attempts }) => writeCount(attempts) },
  {
    head: "Last failure",
    cell: ({ lastFailure }) => (lastFailure === null ? null : failureInWords(lastFailure)),
  },
  {
    head: "Of",
    cell: ({ event, cause }) =>
      event === "request.applied" ? <Link to={`/requests/${cause}`}>request {shortId(cause)}</Link> : null,
  },
];

/** One endpoint: how it stands, its delivery log and its dead letters. */
export function WebhookPage({ params }: { readonly params: { readonly endpointId: string } }) {
  const { endpointId } = params;
  const asked = useAnswer<WebhookAnswer>(`webhooks/${endpointId}`, { againMs: () => AGAIN_MS });
  const webhook = asked.data;
  const [, go] = useLocation();
  return (
    <Page
      title={webhook?.url ?? "Webhook endpoint"}
      heading={<span className="break">{webhook?.url ?? "Webhook endpoint"}</span>}
      crumbs={[{ to: "/webhooks", text: "Webhooks" }]}
      actions={
        webhook === undefined ? undefined : (
          <WebhookActions webhook={webhook} onDone={asked.refetch} onRemoved={() => go("/webhooks")} />
        )
      }
    >
      <Answered asked={asked} lines={10}>
        {(answer) => <Webhook webhook={answer} onDone={asked.refetch} />}
      </Answered>
    </Page>
  );
}

interface WebhookProps {
  readonly webhook: WebhookAnswer;
  readonly onDone: () => void;
}

function Webhook({ webhook, onDone }: WebhookProps) {
  const { kind, clientId, clientName, events, resource, clientCode, propertyCode } = webhook;
  return (
    <>
      <Trouble webhook={webhook} />
      <Facts
        facts={[
          ["State", <WebhookState key="state" state={webhook.state} />],
          [
            "Client",
            <Link key="client" to={`/clients/${clientId}`}>
              {clientName}
            </Link>,
          ],
          ["Told of", kind === "reply-to" ? "requests whose ReplyTo names it" : events.join(", ")],
          ["Resource", resource ?? "all"],
          [
            "Properties",
            clientCode === null ? "all that are granted" : `${clientCode} / ${propertyCode ?? "all"}`,
          ],
          ["Waiting", writeCount(webhook.waiting)],
          ["Created", <Instant key="created" at={webhook.createdAt} />],
        ]}
      />
      <DeadLetters webhook={webhook} onDone={onDone} />
      <Section title="Delivery log">
        {webhook.attempts.length === 0 ? (
          <Empty title="Nothing was sent yet">A test tells whether it arrives.</Empty>
        ) : (
          <Table
            caption="Tries, newest first"
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
        <Notice tone="warn" title={`Paused by ${pausedBy === "service" ? "itself" : pausedBy}`}>
          Since <Instant at={pausedAt} />. {pauseReason} What it would be told waits.
        </Notice>
      ) : null}
      {state === "failing" ? (
        <Notice
          tone="bad"
          title={failures === 1 ? "The last try failed" : `The last ${writeCount(failures)} tries failed`}
        >
          Since <Instant at={failingSince} />.
        </Notice>
      ) : null}
      {droppedSince === null ? null : (
        <Notice tone="bad" title={`${writeMany(dropped, "event")} found its queue full`}>
          Since <Instant at={droppedSince} />. Its partner has to list its requests from there.
        </Notice>
      )}
    </>
  );
}

function DeadLetters({ webhook, onDone }: WebhookProps) {
  const deed = useDeed();
  const say = useSay();
  if (webhook.deadLetters === 0) return null;
  const redrive = () =>
    deed.run(async () => {
      await tell<WebhookAnswer>(`webhooks/${webhook.endpointId}/redrive`, {});
      say("They are tried again.");
      onDone();
    });
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
        caption="Messages that were given up, newest first"
        columns={LETTERS}
        rows={webhook.newestDeadLetters}
        keyOf={({ messageId }) => messageId}
      />
    </Section>
  );
}
