import { Link } from "wouter";
import type { PageOf, PropertyItem, Resource } from "../contract.ts";
import { propertyPath, writeCount } from "../field/format.ts";
import { AddressFilter } from "../parts/field.tsx";
import { type Column, ListPage, useList } from "../parts/list.tsx";
import { Empty } from "../parts/page.tsx";
import { Badge, Instant, PropertyLink } from "../parts/values.tsx";
import { useFilters } from "../routing/filters.ts";

function Feed({ of: { feeds }, resource }: { of: PropertyItem; resource: Resource }) {
  const feed = feeds.find((each) => each.resource === resource);
  if (feed === undefined || feed.state === "never") return <span className="muted">never sent</span>;
  return (
    <span className="badges">
      {feed.state !== "ok" && <Badge tone="bad">{feed.state}</Badge>}
      <Instant at={feed.lastReceivedAt} as="ago" />
    </span>
  );
}

const COLUMNS: readonly Column<PropertyItem>[] = [
  { head: "Property", lead: true, cell: (property) => <PropertyLink of={property} /> },
  { head: "Inventories", cell: (property) => <Feed of={property} resource="inventories" /> },
  { head: "Reservations", cell: (property) => <Feed of={property} resource="reservations" /> },
  { head: "Groups", cell: (property) => <Feed of={property} resource="groups" /> },
  {
    head: "Quarantined",
    end: true,
    cell: (property) =>
      property.quarantined === 0 ? (
        <span className="muted">0</span>
      ) : (
        <Link to={propertyPath("/quarantine", property)}>{writeCount(property.quarantined)}</Link>
      ),
  },
  {
    head: "Nights",
    cell: (property) => <Link to={propertyPath("/property/calendar", property)}>Calendar</Link>,
  },
];

export function PropertiesPage() {
  const { filters } = useFilters();
  const { search = "", clientCode = "" } = Object.fromEntries(filters);
  return (
    <ListPage
      title="Properties"
      lead="Every hotel that a batch has named. A feed is silent when its last batch is older than its setting expects."
      asked={useList<PageOf<PropertyItem>>("properties", { search, clientCode })}
      filters={
        <>
          <AddressFilter name="search" label="Code begins with" first wide />
          <AddressFilter name="clientCode" label="Client code" />
        </>
      }
      caption="Properties and their feeds"
      columns={COLUMNS}
      keyOf={(property) => `${property.clientCode}\0${property.propertyCode}`}
      noun={["property", "properties"]}
      empty={
        filters.size > 0 ? (
          <Empty title="No property matches">A search matches the beginning of a code.</Empty>
        ) : (
          <Empty title="No properties yet">
            A property appears with the first accepted record that names it. The partner's client needs a
            grant for its codes.
          </Empty>
        )
      }
      lines={10}
      csv="clientCode propertyCode inventoriesState inventoriesLast reservationsState reservationsLast groupsState groupsLast quarantined"
      csvRow={(item) =>
        Object.assign(
          { ...item },
          ...item.feeds.map(({ resource, state, lastReceivedAt }) => ({
            [`${resource}State`]: state,
            [`${resource}Last`]: lastReceivedAt,
          })),
        )
      }
    />
  );
}
