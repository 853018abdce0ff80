import type { PageOf, RequestItem } from "../contract.ts";
import { readInstant } from "../field/format.ts";
import { Button } from "../parts/button.tsx";
import { AddressFilter, AddressSelect } from "../parts/field.tsx";
import { ListPage, useList } from "../parts/list.tsx";
import { OUTCOME_NAMES, REQUEST_COLUMNS } from "../parts/request-table.tsx";
import { Empty } from "../parts/states.tsx";
import { useFilters } from "../routing/filters.ts";

const OUTCOMES = [
  ["", "Any"],
  ["failed", "failed in any way"],
  ["warned", "with warnings"],
  ["pending", "being applied"],
  ...OUTCOME_NAMES.map((outcome) => [outcome, outcome] as const),
] as const;

/** The filters of the address as the service takes them. A property needs both codes. */
function queryOf(filters: URLSearchParams): Record<string, string | undefined> {
  const { id, clientId, resource, outcome, clientCode, propertyCode, from, to } = Object.fromEntries(filters);
  const codes = clientCode === undefined || propertyCode === undefined ? {} : { clientCode, propertyCode };
  return {
    id,
    clientId,
    resource,
    outcome,
    ...codes,
    from: readInstant(from ?? ""),
    to: readInstant(to ?? "", "end"),
  };
}

/** Every accepted batch, newest first. */
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
    />
  );
}

function RequestFilters() {
  const { filters } = useFilters();
  const badInstant = (text: string) =>
    readInstant(text) === undefined ? "Like 2026-03-14 or 2026-03-14 09:30" : undefined;
  return (
    <>
      <AddressSelect name="outcome" label="Outcome" options={OUTCOMES} />
      <AddressSelect
        name="resource"
        label="Resource"
        options={{ "": "Any", inventories: "inventories", reservations: "reservations", groups: "groups" }}
      />
      <AddressFilter
        name="id"
        label="Request id begins with"
        first
        check={(text) => (/^[0-9a-f-]{4,36}$/i.test(text) ? undefined : "At least 4 characters of an id")}
      />
      <AddressFilter name="clientId" label="Client id" />
      <AddressFilter name="clientCode" label="Client code" />
      <AddressFilter
        name="propertyCode"
        label="Property code"
        placeholder={filters.has("clientCode") ? "" : "with a client code"}
      />
      <AddressFilter name="from" label="Received from" placeholder="2026-03-14 09:30" check={badInstant} />
      <AddressFilter name="to" label="Received to" placeholder="2026-03-14" check={badInstant} />
      <ClearFilters />
    </>
  );
}

function ClearFilters() {
  const { filters, change } = useFilters();
  if (filters.size === 0) return null;
  const none = Object.fromEntries([...filters.keys()].map((name) => [name, undefined]));
  return (
    <Button kind="quiet" onClick={() => change(none)}>
      Clear
    </Button>
  );
}

function NoRequests({ isFiltered, hasMore }: { readonly isFiltered: boolean; readonly hasMore: boolean }) {
  if (hasMore)
    return (
      <Empty title="No request of this page matches">
        One page reads a limited number of requests. The next page reads older ones.
      </Empty>
    );
  return isFiltered ? (
    <Empty title="No request matches these filters" actions={<ClearFilters />}>
      A property needs both of its codes, and times are UTC.
    </Empty>
  ) : (
    <Empty title="No batches yet">The first batch shows here as soon as a partner sends it.</Empty>
  );
}
