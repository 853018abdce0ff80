import { Link } from "wouter";
import type { PageOf, QuarantineItem } from "../contract.ts";
import { AddressFilter } from "../parts/field.tsx";
import { ListPage, useList } from "../parts/list.tsx";
import { Empty } from "../parts/states.tsx";
import type { Column } from "../parts/table.tsx";
import { Instant, PropertyLink, Word } from "../parts/values.tsx";
import { useFilters } from "../routing/filters.ts";

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
  { head: "Property", cell: (record) => <PropertyLink of={record} /> },
  { head: "Received", cell: ({ receivedAt }) => <Instant at={receivedAt} /> },
  { head: "Why", prose: true, cell: ({ message }) => message },
];

/** Quarantined records, oldest first. */
export function QuarantinePage() {
  const { filters } = useFilters();
  const { clientCode = "", propertyCode = "" } = Object.fromEntries(filters);
  return (
    <ListPage
      title="Quarantine"
      lead="Accepted records that wait for a decision. A release applies the record verbatim."
      asked={useList<PageOf<QuarantineItem>>("quarantine", {
        clientCode,
        propertyCode: clientCode === "" ? "" : propertyCode,
      })}
      filters={
        <>
          <AddressFilter name="clientCode" label="Client code" first />
          <AddressFilter
            name="propertyCode"
            label="Property code"
            placeholder={clientCode === "" ? "with a client code" : ""}
          />
        </>
      }
      caption="Records in quarantine, oldest first"
      columns={COLUMNS}
      keyOf={({ requestId, index }) => `${requestId}/${index}`}
      noun={["record"]}
      empty={
        filters.size > 0 ? (
          <Empty title="No record of these codes is quarantined">Clear the filters to see all.</Empty>
        ) : (
          <Empty title="No record is quarantined">
            Records are quarantined when their source time is in the future or the database cannot store a
            value.
          </Empty>
        )
      }
      csv="requestId index clientCode propertyCode resource key code message receivedAt"
    />
  );
}
