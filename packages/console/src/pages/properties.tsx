import { Link } from "wouter";
import type { FeedGlance, Page as PageOf, PropertyItem } from "../contract.ts";
import { addressOf } from "../data/call.ts";
import { useAnswer } from "../data/queries.ts";
import { writeCount, writeMany } from "../field/amounts.ts";
import { propertyPath } from "../field/property-path.ts";
import { Badge, type Tone } from "../parts/badge.tsx";
import { ExportButton } from "../parts/export-button.tsx";
import { Instant } from "../parts/instant.tsx";
import { Page } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { Answered, Empty } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { TextFilter } from "../parts/text-filter.tsx";
import { Word } from "../parts/word.tsx";
import { useFilters } from "../routing/filters.ts";

const LIMIT = 50;

const TONES: Readonly<Record<FeedGlance["state"], Tone>> = { ok: "plain", silent: "bad", never: "plain" };

/** One resource's feed: when it last brought something, and whether that is as it should be. */
function Feed({
  property,
  resource,
}: {
  readonly property: PropertyItem;
  readonly resource: FeedGlance["resource"];
}) {
  const feed = property.feeds.find((each) => each.resource === resource);
  if (feed === undefined || feed.state === "never") return <span className="muted">never sent</span>;
  return (
    <span className="badges">
      {feed.state === "ok" ? null : <Badge tone={TONES[feed.state]}>{feed.state}</Badge>}
      <Instant at={feed.lastReceivedAt} as="ago" />
    </span>
  );
}

const COLUMNS: readonly Column<PropertyItem>[] = [
  {
    head: "Property",
    lead: true,
    cell: (property) => (
      <Link to={propertyPath("/property", property)}>
        <Word>{`${property.clientCode} / ${property.propertyCode}`}</Word>
      </Link>
    ),
  },
  { head: "Inventories", cell: (property) => <Feed property={property} resource="inventories" /> },
  { head: "Reservations", cell: (property) => <Feed property={property} resource="reservations" /> },
  { head: "Groups", cell: (property) => <Feed property={property} resource="groups" /> },
  {
    head: "Held",
    end: true,
    cell: ({ clientCode, propertyCode, held }) =>
      held === 0 ? (
        <span className="muted">0</span>
      ) : (
        <Link to={propertyPath("/quarantine", { clientCode, propertyCode })}>{writeCount(held)}</Link>
      ),
  },
  {
    head: "Nights",
    cell: (property) => <Link to={propertyPath("/property/calendar", property)}>Calendar</Link>,
  },
];

/** Every hotel that a batch has named, and how its feeds are. */
export function PropertiesPage() {
  const { filters, change } = useFilters();
  const asked = useAnswer<PageOf<PropertyItem>>(
    addressOf("properties", {
      search: filters.get("search") ?? undefined,
      clientCode: filters.get("clientCode") ?? undefined,
      cursor: filters.get("cursor") ?? undefined,
      limit: LIMIT,
    }),
  );
  return (
    <Page
      title="Properties"
      lead="Every hotel that a batch has named. A feed is silent when its last batch is longer ago than its setting expects."
      actions={<ExportButton name="properties" rows={() => toRows(asked.data?.items ?? [])} />}
    >
      <search className="filters">
        <TextFilter
          label="Code begins with"
          first
          wide
          value={filters.get("search") ?? ""}
          onChange={(search) => change({ search }, "replace")}
        />
        <TextFilter
          label="Client code"
          value={filters.get("clientCode") ?? ""}
          onChange={(clientCode) => change({ clientCode }, "replace")}
        />
      </search>
      <Answered asked={asked} lines={10}>
        {({ items, nextCursor }) => (
          <>
            {items.length === 0 ? (
              <NoProperties isFiltered={filters.size > 0} />
            ) : (
              <Table
                caption="Properties and their feeds"
                columns={COLUMNS}
                rows={items}
                keyOf={({ clientCode, propertyCode }) => `${clientCode}\0${propertyCode}`}
              />
            )}
            <Pager nextCursor={nextCursor} shown={writeMany(items.length, "property", "properties")} />
          </>
        )}
      </Answered>
    </Page>
  );
}

function NoProperties({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered)
    return <Empty title="No property has such a code">Codes are compared from their beginning.</Empty>;
  return (
    <Empty title="No property yet">
      A property appears with the first accepted record that names it. The partner's client has to be granted
      its codes.
    </Empty>
  );
}

function toRows(items: readonly PropertyItem[]): (string | number | null)[][] {
  const feedOf = ({ feeds }: PropertyItem, resource: FeedGlance["resource"]) => {
    const feed = feeds.find((each) => each.resource === resource);
    return [feed?.state ?? "never", feed?.lastReceivedAt ?? null];
  };
  return [
    [
      "clientCode",
      "propertyCode",
      "inventoriesState",
      "inventoriesLast",
      "reservationsState",
      "reservationsLast",
      "groupsState",
      "groupsLast",
      "held",
    ],
    ...items.map((item) => [
      item.clientCode,
      item.propertyCode,
      ...feedOf(item, "inventories"),
      ...feedOf(item, "reservations"),
      ...feedOf(item, "groups"),
      item.held,
    ]),
  ];
}
