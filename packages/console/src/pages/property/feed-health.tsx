import { Link } from "wouter";
import type { FeedHealthAnswer, FeedHealthItem, PropertyCodes } from "../../contract.ts";
import { addressOf } from "../../data/call.ts";
import { useAnswer } from "../../data/queries.ts";
import { writeCount, writeMany, writeShare } from "../../field/format.ts";
import { propertyPath } from "../../field/property-path.ts";
import { Section } from "../../parts/page.tsx";
import { Answered, Empty, Notice } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Badge, Instant, orDash } from "../../parts/values.tsx";

/** How each feed of a property does: when it last brought something, and how well. */
export function FeedHealth({ codes }: { readonly codes: PropertyCodes }) {
  const asked = useAnswer<FeedHealthAnswer>(addressOf("insight/feed-health", { ...codes }));
  return (
    <Section title="Feeds" aside={<p>Rates are of the last seven days.</p>}>
      <Answered asked={asked} lines={4}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No feed of this property has sent a batch yet" />
          ) : (
            <>
              <Unmapped items={items} codes={codes} />
              <Table
                caption="Feeds of this property"
                columns={columnsOf(codes)}
                rows={items}
                keyOf={({ resource }) => resource}
              />
            </>
          )
        }
      </Answered>
    </Section>
  );
}

function columnsOf(codes: PropertyCodes): readonly Column<FeedHealthItem>[] {
  return [
    { head: "Feed", lead: true, cell: ({ resource }) => resource },
    { head: "State", cell: (feed) => <FeedState feed={feed} /> },
    { head: "Last batch", cell: ({ lastReceivedAt }) => <Instant at={lastReceivedAt} as="ago" /> },
    { head: "Usually every", end: true, cell: ({ cadenceHours }) => orDash(cadenceHours, writeHours) },
    {
      head: "Expected every",
      end: true,
      cell: ({ expectedCadenceHours }) => orDash(expectedCadenceHours, writeHours),
    },
    { head: "Batches", end: true, cell: ({ batches }) => writeCount(batches) },
    { head: "Records", end: true, cell: ({ records }) => writeCount(records) },
    { head: "Rejected", end: true, cell: ({ rejectionRate }) => orDash(rejectionRate, writeShare) },
    { head: "With warnings", end: true, cell: ({ warningRate }) => orDash(warningRate, writeShare) },
    {
      head: "Quarantined",
      end: true,
      cell: ({ quarantined }) =>
        quarantined === 0 ? (
          "0"
        ) : (
          <Link to={propertyPath("/quarantine", codes)}>{writeCount(quarantined)}</Link>
        ),
    },
  ];
}

function FeedState({ feed }: { readonly feed: FeedHealthItem }) {
  if (feed.lastReceivedAt === null) return <span className="muted">never sent</span>;
  return (
    <span className="badges">
      {feed.silent ? <Badge tone="bad">silent</Badge> : <span>as expected</span>}
      {feed.missingNightCount > 0 ? (
        <Badge tone="warn">{writeMany(feed.missingNightCount, "night")} missing</Badge>
      ) : null}
      {feed.staleNightCount > 0 ? (
        <Badge tone="warn">{writeMany(feed.staleNightCount, "night")} not renewed</Badge>
      ) : null}
    </span>
  );
}

function writeHours(value: number): string {
  // Two places of an hour are 36 s: what is less came at once, as a first load does.
  if (value < 1 / 60) return "< 1 min";
  return value < 1 ? `${Math.round(value * 60)} min` : `${Math.round(value * 10) / 10} h`;
}

interface UnmappedProps {
  readonly items: readonly FeedHealthItem[];
  readonly codes: PropertyCodes;
}

function Unmapped({ items, codes }: UnmappedProps) {
  const labels = items.flatMap(({ unmappedLabels }) => unmappedLabels);
  if (labels.length === 0) return null;
  const records = labels.reduce((sum, label) => sum + label.records, 0);
  const words = labels
    .slice(0, 5)
    .map(({ label }) => label)
    .join(", ");
  return (
    <Notice
      tone="warn"
      title={`${writeMany(records, "record")} under unmapped labels: ${words}`}
      action={<Link to={propertyPath("/settings", codes)}>Map them</Link>}
    >
      They do not count on the books until their labels are mapped.
    </Notice>
  );
}
