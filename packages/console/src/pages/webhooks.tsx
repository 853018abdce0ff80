import { useState } from "react";
import { Link } from "wouter";
import type { WebhookItem, WebhookSecretAnswer, WebhooksAnswer } from "../contract.ts";
import { addressOf } from "../data/call.ts";
import { useAnswer } from "../data/queries.ts";
import { failureInWords, writeCount } from "../field/format.ts";
import { Button } from "../parts/button.tsx";
import { AddressFilter } from "../parts/field.tsx";
import { ListPage } from "../parts/list.tsx";
import { Empty } from "../parts/states.tsx";
import type { Column } from "../parts/table.tsx";
import { Badge, Instant } from "../parts/values.tsx";
import { useFilters } from "../routing/filters.ts";
import { NewWebhookDialog } from "./webhook/new-webhook.tsx";
import { WebhookSecretDialog } from "./webhook/webhook-secret.tsx";

const AGAIN_MS = 5_000;

/** The state of an endpoint. */
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
  { head: "Events", cell: ({ kind, events }) => (kind === "reply-to" ? "ReplyTo" : events.join(", ")) },
  { head: "State", cell: ({ state }) => <WebhookState state={state} /> },
  { head: "Waiting", end: true, cell: ({ waiting }) => writeCount(waiting) },
  { head: "Dead letters", end: true, cell: ({ deadLetters }) => writeCount(deadLetters) },
  { head: "Last attempt", cell: ({ lastTryAt }) => <Instant at={lastTryAt} as="ago" /> },
  { head: "Result", cell: ({ lastStatus, lastFailure }) => resultOf(lastStatus, lastFailure) },
];

/** The result of the last attempt: `delivered`, `timed out`, `not accepted (503)`. */
function resultOf(status: number | null, failure: string | null): string | null {
  if (failure === null) return status === null ? null : "delivered";
  return status === null ? failureInWords(failure) : `${failureInWords(failure)} (${status})`;
}

/** The partners' webhook endpoints. */
export function WebhooksPage() {
  const clientId = useFilters().filters.get("clientId") ?? "";
  const asked = useAnswer<WebhooksAnswer>(addressOf("webhooks", { clientId }), { againMs: () => AGAIN_MS });
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<WebhookSecretAnswer>();
  return (
    <ListPage
      title="Webhooks"
      lead="The endpoints that partners are notified at, and the state of their deliveries."
      actions={
        <Button kind="main" onClick={() => setMaking(true)}>
          New endpoint …
        </Button>
      }
      asked={asked}
      filters={<AddressFilter name="clientId" label="Client id" first wide />}
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
      {isMaking ? (
        <NewWebhookDialog clientId={clientId} onClose={() => setMaking(false)} onDone={setMade} />
      ) : null}
      {made === undefined ? null : <WebhookSecretDialog made={made} onClose={() => setMade(undefined)} />}
    </ListPage>
  );
}
