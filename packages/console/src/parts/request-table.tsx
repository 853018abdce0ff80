import { Link } from "wouter";
import type { RequestCounts, RequestItem } from "../contract.ts";
import { writeCount } from "../field/amounts.ts";
import { failedOf } from "../field/failed-counts.ts";
import { writeDuration } from "../field/instant.ts";
import { Badge } from "./badge.tsx";
import { Instant } from "./instant.tsx";
import { type Column, Table } from "./table.tsx";

const COLUMNS: readonly Column<RequestItem>[] = [
  {
    head: "Received",
    lead: true,
    cell: ({ requestId, receivedAt }) => (
      <Link to={`/requests/${requestId}`} title={requestId}>
        <Instant at={receivedAt} />
      </Link>
    ),
  },
  {
    head: "Client",
    cell: ({ clientName, clientId }) => clientName ?? <span className="mono small">{clientId}</span>,
  },
  { head: "Resource", cell: ({ resource }) => resource },
  { head: "Records", end: true, cell: ({ counts }) => writeCount(counts.records) },
  { head: "Outcome", cell: (request) => <RequestOutcome request={request} /> },
  { head: "Applied after", end: true, cell: (request) => appliedAfter(request) },
];

/** Requests in a list. */
export function RequestTable({
  caption,
  items,
}: {
  readonly caption: string;
  readonly items: readonly RequestItem[];
}) {
  return <Table caption={caption} columns={COLUMNS} rows={items} keyOf={({ requestId }) => requestId} />;
}

function appliedAfter({ receivedAt, appliedAt }: RequestItem): string {
  if (appliedAt === null) return "–";
  return writeDuration(Math.max(0, (Date.parse(appliedAt) - Date.parse(receivedAt)) / 1000));
}

/** What is to be looked at, in badges; all else in a word. */
export function RequestOutcome({ request }: { readonly request: Pick<RequestItem, "counts" | "status"> }) {
  const { counts, status } = request;
  return (
    <span className="badges">
      {status === "accepted" ? (
        <Badge tone="accent" icon="waiting">
          being applied
        </Badge>
      ) : null}
      {counts.rejected > 0 ? <Badge tone="bad">{writeCount(counts.rejected)} rejected</Badge> : null}
      {counts.quarantined > 0 ? (
        <Badge tone="warn">{writeCount(counts.quarantined)} quarantined</Badge>
      ) : null}
      {counts.discarded > 0 ? <Badge>{writeCount(counts.discarded)} discarded</Badge> : null}
      {counts.warned > 0 ? <Badge tone="warn">{writeCount(counts.warned)} with warnings</Badge> : null}
      {status === "applied" && failedOf(counts) + counts.warned === 0 ? (
        <span>{plainWord(counts)}</span>
      ) : null}
    </span>
  );
}

function plainWord({ records, applied, unchanged, stale, duplicate }: RequestCounts): string {
  for (const [count, word] of [
    [applied, "applied"],
    [unchanged, "unchanged"],
    [stale, "stale"],
    [duplicate, "duplicate"],
  ] as const)
    if (count === records) return `all ${word}`;
  return "applied";
}
