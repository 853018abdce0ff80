import { Link } from "wouter";
import type { ClientCodesAnswer, Outcome, PageOf, RequestCounts, RequestItem } from "../contract.ts";
import { useAnswer, useMay } from "../data/queries.ts";
import { readInstant, writeCount, writeDuration } from "../field/format.ts";
import { AddressFilter, AddressSelect, InstantRange, SelectField } from "../parts/field.tsx";
import { ClearFilters, useChip } from "../parts/filters.tsx";
import { type Column, figure, ListPage, ParquetNote, useList } from "../parts/list.tsx";
import { Empty } from "../parts/page.tsx";
import { Badge, Instant } from "../parts/values.tsx";
import { useFilters } from "../routing/filters.ts";
import { ClientFilter } from "./clients.tsx";

export const OUTCOME_NAMES = [
  "applied",
  "unchanged",
  "stale",
  "duplicate",
  "quarantined",
  "discarded",
  "rejected",
] as const satisfies readonly Outcome[];

const OUTCOMES = [
  ["", "Any"],
  ["failed", "failed in any way"],
  ["warned", "with warnings"],
  ["pending", "being applied"],
  ...OUTCOME_NAMES,
] as const;

/** A property code is meaningful only with its client code. */
function queryOf(filters: URLSearchParams): Record<string, string | undefined> {
  const { id, clientId, resource, outcome, clientCode, propertyCode, from, to } = Object.fromEntries(filters);
  return {
    id,
    clientId,
    resource,
    outcome,
    clientCode,
    propertyCode: clientCode === undefined ? undefined : propertyCode,
    from: readInstant(from ?? ""),
    to: readInstant(to ?? "", "end"),
  };
}

export function RequestsPage() {
  const { filters } = useFilters();
  return (
    <ListPage
      title="Requests"
      lead="Every accepted batch, newest first."
      asked={useList<PageOf<RequestItem>>("requests", queryOf(filters))}
      filters={<RequestFilters />}
      caption="Requests, newest first"
      columns={REQUEST_COLUMNS}
      keyOf={({ requestId }) => requestId}
      noun={["request"]}
      empty={({ nextCursor }) => <NoRequests isFiltered={filters.size > 0} hasMore={nextCursor !== null} />}
      lines={12}
      csv="requestId receivedAt appliedAt clientId clientName resource status records applied unchanged stale duplicate quarantined discarded rejected pending warned correlationId"
      csvRow={({ counts, ...item }) => ({ ...item, ...counts })}
    >
      <ParquetNote table="outcomes" />
    </ListPage>
  );
}

function RequestFilters() {
  const { filters } = useFilters();
  const seesClients = useMay()("read-clients");
  return (
    <>
      <AddressSelect name="outcome" label="Outcome" options={OUTCOMES} />
      <AddressSelect
        name="resource"
        label="Resource"
        options={[["", "Any"], "inventories", "reservations", "groups"]}
      />
      <AddressFilter
        name="id"
        label="Request id begins with"
        first
        check={(text) => (/^[0-9a-f-]{4,36}$/i.test(text) ? undefined : "At least 4 characters of an id")}
      />
      {seesClients && <ClientFilter />}
      <ClientCodeFilter />
      {filters.has("clientCode") && (
        <AddressFilter name="propertyCode" label="Property code" placeholder="any" />
      )}
      <InstantRange from="Received from" to="Received to" />
      <ClearFilters />
    </>
  );
}

/** Lists the client code in the address even if it is unknown. */
function ClientCodeFilter() {
  const { filters, change } = useFilters();
  const { data } = useAnswer<ClientCodesAnswer>("client-codes");
  const chosen = filters.get("clientCode") ?? "";
  const known = (data?.items ?? []).map(({ clientCode }) => clientCode);
  const codes = chosen === "" || known.includes(chosen) ? known : [...known, chosen];
  const choose = (clientCode: string) => change({ clientCode, propertyCode: undefined });
  useChip("Client code", chosen || undefined, () => choose(""));
  return (
    <SelectField label="Client code" value={chosen} options={[["", "Any"], ...codes]} onChange={choose} />
  );
}

function NoRequests({ isFiltered, hasMore }: { isFiltered: boolean; hasMore: boolean }) {
  if (hasMore)
    return (
      <Empty title="No request on this page matches">
        A page searches a limited number of requests. The next page searches older ones.
      </Empty>
    );
  return isFiltered ? (
    <Empty title="No request matches these filters" actions={<ClearFilters />}>
      Times are UTC.
    </Empty>
  ) : (
    <Empty title="No batches yet">The first batch shows here as soon as a partner sends it.</Empty>
  );
}

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
  figure("Records", ({ counts }) => counts.records, writeCount),
  { head: "Outcome", cell: (request) => <RequestOutcome request={request} /> },
  { head: "Applied after", end: true, cell: (request) => appliedAfter(request) },
];

export function appliedAfter({
  receivedAt,
  appliedAt,
}: Pick<RequestItem, "receivedAt" | "appliedAt">): string {
  if (appliedAt === null) return "–";
  return writeDuration(Math.max(0, (Date.parse(appliedAt) - Date.parse(receivedAt)) / 1000));
}

/** Badges for outcomes that need attention, plain text for others. */
export function RequestOutcome({ request }: { request: Pick<RequestItem, "counts" | "status"> }) {
  const { counts, status } = request;
  return (
    <span className="badges">
      {status === "accepted" && (
        <Badge tone="accent" icon="waiting">
          being applied
        </Badge>
      )}
      {counts.rejected > 0 && <Badge tone="bad">{writeCount(counts.rejected)} rejected</Badge>}
      {counts.quarantined > 0 && <Badge tone="warn">{writeCount(counts.quarantined)} quarantined</Badge>}
      {counts.discarded > 0 && <Badge>{writeCount(counts.discarded)} discarded</Badge>}
      {counts.warned > 0 && <Badge tone="warn">{writeCount(counts.warned)} with warnings</Badge>}
      {status === "applied" &&
        counts.quarantined + counts.discarded + counts.rejected + counts.warned === 0 && (
          <span>{plainWords(counts)}</span>
        )}
    </span>
  );
}

/** `applied`, or `612 applied, 49 unchanged` if outcomes differ. */
function plainWords(counts: RequestCounts): string {
  const words = (["applied", "unchanged", "stale", "duplicate"] as const).filter((word) => counts[word] > 0);
  return words.length === 1
    ? words.join()
    : words.map((word) => `${writeCount(counts[word])} ${word}`).join(", ");
}
