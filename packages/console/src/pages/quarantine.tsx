import { Link } from "wouter";
import type { Page as PageOf, QuarantineItem } from "../contract.ts";
import { addressOf } from "../data/call.ts";
import { useAnswer } from "../data/queries.ts";
import { writeMany } from "../field/amounts.ts";
import { ExportButton } from "../parts/export-button.tsx";
import { Instant } from "../parts/instant.tsx";
import { Page } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { PropertyLink } from "../parts/property-link.tsx";
import { Answered, Empty } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { TextFilter } from "../parts/text-filter.tsx";
import { Word } from "../parts/word.tsx";
import { useFilters } from "../routing/filters.ts";

const LIMIT = 50;

const COLUMNS: readonly Column<QuarantineItem>[] = [
  {
    head: "Record",
    lead: true,
    cell: ({ requestId, index, key }) => (
      <Link to={`/quarantine/${requestId}/${index}`}>
        <Word>{key}</Word>
      </Link>
    ),
  },
  { head: "Resource", cell: ({ resource }) => resource },
  {
    head: "Property",
    cell: ({ clientCode, propertyCode }) => (
      <PropertyLink clientCode={clientCode} propertyCode={propertyCode} />
    ),
  },
  { head: "Received", cell: ({ receivedAt }) => <Instant at={receivedAt} /> },
  { head: "Why", prose: true, cell: ({ message }) => message },
];

/** Records that were accepted but held aside, oldest first. */
export function QuarantinePage() {
  const { filters, change } = useFilters();
  const value = (name: string) => filters.get(name) ?? "";
  const bothCodes = value("clientCode") !== "" && value("propertyCode") !== "";
  const asked = useAnswer<PageOf<QuarantineItem>>(
    addressOf("quarantine", {
      clientCode: value("clientCode"),
      propertyCode: bothCodes ? value("propertyCode") : undefined,
      cursor: value("cursor"),
      limit: LIMIT,
    }),
  );
  return (
    <Page
      title="Quarantine"
      lead="Records that were accepted but held aside until somebody decides. A release applies one as it was sent."
      actions={<ExportButton name="quarantine" rows={() => toRows(asked.data?.items ?? [])} />}
    >
      <search className="filters">
        <TextFilter
          label="Client code"
          first
          value={value("clientCode")}
          onChange={(clientCode) => change({ clientCode }, "replace")}
        />
        <TextFilter
          label="Property code"
          value={value("propertyCode")}
          placeholder={value("clientCode") === "" ? "with a client code" : ""}
          onChange={(propertyCode) => change({ propertyCode }, "replace")}
        />
      </search>
      <Answered asked={asked} lines={8}>
        {({ items, nextCursor }) => (
          <>
            {items.length === 0 ? (
              <NothingHeld isFiltered={filters.size > 0} />
            ) : (
              <Table
                caption="Records in quarantine, oldest first"
                columns={COLUMNS}
                rows={items}
                keyOf={({ requestId, index }) => `${requestId}/${index}`}
              />
            )}
            <Pager nextCursor={nextCursor} shown={writeMany(items.length, "record")} />
          </>
        )}
      </Answered>
    </Page>
  );
}

function NothingHeld({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) return <Empty title="Nothing is held for these codes">Clear the filters to see all.</Empty>;
  return (
    <Empty title="Nothing is held">
      Records land here whose source time lies in the future, or whose values the database cannot store.
    </Empty>
  );
}

function toRows(items: readonly QuarantineItem[]): (string | number | null)[][] {
  return [
    ["requestId", "index", "clientCode", "propertyCode", "resource", "key", "code", "message", "receivedAt"],
    ...items.map((item) => [
      item.requestId,
      item.index,
      item.clientCode,
      item.propertyCode,
      item.resource,
      item.key,
      item.code,
      item.message,
      item.receivedAt,
    ]),
  ];
}
