import { Link } from "wouter";
import type { Outcome, RequestCounts, RequestItem } from "../contract.ts";
import { writeCount, writeDuration } from "../field/format.ts";
import type { Column } from "./table.tsx";
import { Badge, Instant } from "./values.tsx";

/** The columns of a list of requests. */
export const REQUEST_COLUMNS: readonly Column<RequestItem>[] = [
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

/** How long after its receipt a request was applied. */
export function appliedAfter({
  receivedAt,
  appliedAt,
}: Pick<RequestItem, "receivedAt" | "appliedAt">): string {
  if (appliedAt === null) return "–";
  return writeDuration(Math.max(0, (Date.parse(appliedAt) - Date.parse(receivedAt)) / 1000));
}

/** The outcomes of its records that need attention, as badges; otherwise a word. */
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
      {status === "applied" &&
      counts.quarantined + counts.discarded + counts.rejected + counts.warned === 0 ? (
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

export const OUTCOME_NAMES = [
  "applied",
  "unchanged",
  "stale",
  "duplicate",
  "quarantined",
  "discarded",
  "rejected",
] as const satisfies readonly Outcome[];
