import type { Outcome, Page as PageOf, RequestItem } from "../contract.ts";
import { addressOf } from "../data/call.ts";
import { useAnswer } from "../data/queries.ts";
import { writeMany } from "../field/amounts.ts";
import { readInstant } from "../field/instant.ts";
import { Button } from "../parts/button.tsx";
import { ExportButton } from "../parts/export-button.tsx";
import { SelectField } from "../parts/field.tsx";
import { Page } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { RequestTable } from "../parts/request-table.tsx";
import { Answered, Empty } from "../parts/states.tsx";
import { TextFilter } from "../parts/text-filter.tsx";
import { useFilters } from "../routing/filters.ts";

const LIMIT = 50;
type OutcomeFilter = Outcome | "failed" | "warned" | "pending";
const OUTCOMES: readonly OutcomeFilter[] = [
  "failed",
  "warned",
  "pending",
  "applied",
  "unchanged",
  "stale",
  "duplicate",
  "quarantined",
  "discarded",
  "rejected",
];

/** What stands in the address, as the service takes it. Of a property both codes are needed. */
function queryOf(filters: URLSearchParams): Record<string, string | undefined> {
  const told = (name: string) => filters.get(name) ?? undefined;
  const bothCodes = filters.has("clientCode") && filters.has("propertyCode");
  return {
    id: told("id"),
    clientId: told("clientId"),
    resource: told("resource"),
    outcome: told("outcome"),
    ...(bothCodes ? { clientCode: told("clientCode"), propertyCode: told("propertyCode") } : {}),
    from: readInstant(filters.get("from") ?? "", "start"),
    to: readInstant(filters.get("to") ?? "", "end"),
    cursor: told("cursor"),
  };
}

/** Every batch that was accepted, newest first. */
export function RequestsPage() {
  const { filters } = useFilters();
  const asked = useAnswer<PageOf<RequestItem>>(addressOf("requests", { ...queryOf(filters), limit: LIMIT }));
  return (
    <Page
      title="Requests"
      lead="Every batch that was accepted, newest first."
      actions={<ExportButton rows={() => toRows(asked.data?.items ?? [])} name="requests" />}
    >
      <RequestFilters />
      <Answered asked={asked} lines={12}>
        {({ items, nextCursor }) => (
          <>
            {items.length === 0 ? (
              <NoRequests isFiltered={filters.size > 0} hasMore={nextCursor !== null} />
            ) : (
              <RequestTable caption="Requests, newest first" items={items} />
            )}
            <Pager nextCursor={nextCursor} shown={writeMany(items.length, "request")} />
          </>
        )}
      </Answered>
    </Page>
  );
}

function RequestFilters() {
  const { filters, change } = useFilters();
  const value = (name: string) => filters.get(name) ?? "";
  const badInstant = (text: string) =>
    readInstant(text) === undefined ? "Like 2026-03-14 or 2026-03-14 09:30" : undefined;
  return (
    <search className="filters">
      <SelectField
        label="Outcome"
        value={value("outcome")}
        options={[["", "Any"], ...OUTCOMES.map((outcome) => [outcome, outcomeText(outcome)] as const)]}
        onChange={(outcome) => change({ outcome })}
      />
      <SelectField
        label="Resource"
        value={value("resource")}
        options={[
          ["", "Any"],
          ["inventories", "inventories"],
          ["reservations", "reservations"],
          ["groups", "groups"],
        ]}
        onChange={(resource) => change({ resource })}
      />
      <TextFilter
        label="Request id begins with"
        value={value("id")}
        first
        check={(text) => (/^[0-9a-f-]{4,36}$/i.test(text) ? undefined : "At least 4 characters of an id")}
        onChange={(id) => change({ id: id.toLowerCase() })}
      />
      <TextFilter
        label="Client id"
        value={value("clientId")}
        onChange={(clientId) => change({ clientId }, "replace")}
      />
      <TextFilter
        label="Client code"
        value={value("clientCode")}
        onChange={(clientCode) => change({ clientCode }, "replace")}
      />
      <TextFilter
        label="Property code"
        value={value("propertyCode")}
        placeholder={value("clientCode") === "" ? "with a client code" : ""}
        onChange={(propertyCode) => change({ propertyCode }, "replace")}
      />
      <TextFilter
        label="Received from"
        value={value("from")}
        placeholder="2026-03-14 09:30"
        check={badInstant}
        onChange={(from) => change({ from }, "replace")}
      />
      <TextFilter
        label="Received to"
        value={value("to")}
        placeholder="2026-03-14"
        check={badInstant}
        onChange={(to) => change({ to }, "replace")}
      />
      <ClearFilters />
    </search>
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

function outcomeText(outcome: OutcomeFilter): string {
  if (outcome === "failed") return "failed in any way";
  if (outcome === "warned") return "with warnings";
  if (outcome === "pending") return "being applied";
  return outcome;
}

function NoRequests({ isFiltered, hasMore }: { readonly isFiltered: boolean; readonly hasMore: boolean }) {
  if (hasMore)
    return (
      <Empty title="None among the requests that were looked at">
        One page looks at so many requests at most. The next page looks further back.
      </Empty>
    );
  return isFiltered ? (
    <Empty title="No request fits these filters" actions={<ClearFilters />}>
      Both codes of a property are needed together, and times are UTC.
    </Empty>
  ) : (
    <Empty title="Nothing has come in yet">The first batch shows here as soon as a partner sends it.</Empty>
  );
}

function toRows(items: readonly RequestItem[]): (string | number | null)[][] {
  const head =
    "requestId,receivedAt,appliedAt,clientId,clientName,resource,status,records,applied,unchanged,stale,duplicate";
  const more = "quarantined,discarded,rejected,pending,warned,correlationId";
  return [
    `${head},${more}`.split(","),
    ...items.map(({ counts, ...item }) => [
      item.requestId,
      item.receivedAt,
      item.appliedAt,
      item.clientId,
      item.clientName,
      item.resource,
      item.status,
      counts.records,
      counts.applied,
      counts.unchanged,
      counts.stale,
      counts.duplicate,
      counts.quarantined,
      counts.discarded,
      counts.rejected,
      counts.pending,
      counts.warned,
      item.correlationId,
    ]),
  ];
}
