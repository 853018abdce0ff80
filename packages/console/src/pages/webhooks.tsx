import { useState } from "react";
import { Link } from "wouter";
import type { WebhookItem, WebhookSecretAnswer, WebhooksAnswer } from "../contract.ts";
import { addressOf } from "../data/call.ts";
import { useAnswer } from "../data/queries.ts";
import { writeCount } from "../field/amounts.ts";
import { failureInWords } from "../field/failure-words.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { ExportButton } from "../parts/export-button.tsx";
import { Instant } from "../parts/instant.tsx";
import { Page } from "../parts/page.tsx";
import { Answered, Empty } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { TextFilter } from "../parts/text-filter.tsx";
import { useFilters } from "../routing/filters.ts";
import { NewWebhookDialog } from "./webhook/new-webhook.tsx";
import { WebhookSecretDialog } from "./webhook/webhook-secret.tsx";

/** Deliveries come and go by themselves. */
const AGAIN_MS = 5_000;

/** How an endpoint stands, in one word. */
export function WebhookState({ state }: { readonly state: WebhookItem["state"] }) {
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
  { head: "Told of", cell: ({ kind, events }) => (kind === "reply-to" ? "ReplyTo" : events.join(", ")) },
  { head: "State", cell: ({ state }) => <WebhookState state={state} /> },
  { head: "Waiting", end: true, cell: ({ waiting }) => writeCount(waiting) },
  { head: "Dead letters", end: true, cell: ({ deadLetters }) => writeCount(deadLetters) },
  { head: "Last try", cell: ({ lastTryAt }) => <Instant at={lastTryAt} as="ago" /> },
  {
    head: "Came to",
    cell: ({ lastStatus, lastFailure }) => cameTo(lastStatus, lastFailure),
  },
];

/** What became of the last try: `delivered`, `timed out`, `not accepted (503)`. */
function cameTo(status: number | null, failure: string | null): string | null {
  if (failure === null) return status === null ? null : "delivered";
  return status === null ? failureInWords(failure) : `${failureInWords(failure)} (${status})`;
}

/** Where partners are told what happened. */
export function WebhooksPage() {
  const { filters, change } = useFilters();
  const clientId = filters.get("clientId") ?? "";
  const asked = useAnswer<WebhooksAnswer>(addressOf("webhooks", { clientId }), { againMs: () => AGAIN_MS });
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<WebhookSecretAnswer>();
  return (
    <Page
      title="Webhooks"
      lead="Where partners are told what happened, and what became of it."
      actions={
        <>
          <ExportButton name="webhooks" rows={() => toRows(asked.data?.items ?? [])} />
          <Button kind="main" onClick={() => setMaking(true)}>
            New endpoint …
          </Button>
        </>
      }
    >
      <search className="filters">
        <TextFilter
          label="Client id"
          first
          wide
          value={clientId}
          onChange={(value) => change({ clientId: value }, "replace")}
        />
      </search>
      <Answered asked={asked} lines={6}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={clientId === "" ? "No endpoint yet" : "This client has no endpoint"}>
              Partners register their own with the scope webhooks; you can make one for them here.
            </Empty>
          ) : (
            <Table
              caption="Webhook endpoints, oldest first"
              columns={COLUMNS}
              rows={items}
              keyOf={({ endpointId }) => endpointId}
            />
          )
        }
      </Answered>
      {isMaking ? (
        <NewWebhookDialog
          clientId={clientId}
          onClose={() => setMaking(false)}
          onDone={(answer) => {
            setMaking(false);
            setMade(answer);
            asked.refetch();
          }}
        />
      ) : null}
      {made === undefined ? null : <WebhookSecretDialog made={made} onClose={() => setMade(undefined)} />}
    </Page>
  );
}

function toRows(items: readonly WebhookItem[]): (string | number | null)[][] {
  return [
    [
      "endpointId",
      "kind",
      "url",
      "description",
      "clientId",
      "clientName",
      "events",
      "resource",
      "clientCode",
      "propertyCode",
      "state",
      "pausedAt",
      "pausedBy",
      "pauseReason",
      "failures",
      "failingSince",
      "waiting",
      "waitingSince",
      "deadLetters",
      "dropped",
      "droppedSince",
      "lastTryAt",
      "lastStatus",
      "lastFailure",
      "createdAt",
    ],
    ...items.map((item) => [
      item.endpointId,
      item.kind,
      item.url,
      item.description,
      item.clientId,
      item.clientName,
      item.events.join(" "),
      item.resource,
      item.clientCode,
      item.propertyCode,
      item.state,
      item.pausedAt,
      item.pausedBy,
      item.pauseReason,
      item.failures,
      item.failingSince,
      item.waiting,
      item.waitingSince,
      item.deadLetters,
      item.dropped,
      item.droppedSince,
      item.lastTryAt,
      item.lastStatus,
      item.lastFailure,
      item.createdAt,
    ]),
  ];
}
