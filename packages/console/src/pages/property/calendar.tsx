import { Link } from "wouter";
import { Months } from "../../charts/months.tsx";
import type { CalendarAnswer, CalendarNight, FeedHealthItem, PropertyCodes } from "../../contract.ts";
import { addressOf, useAnswer } from "../../data/queries.ts";
import {
  addDays,
  historyPath,
  propertyPath,
  writeAgo,
  writeCount,
  writeDate,
  writeDuration,
  writeMany,
  writeMonth,
  writeShare,
} from "../../field/format.ts";
import { type Column, ExportButtons, figure, Table } from "../../parts/list.tsx";
import { Answered, Empty, Notice, Section } from "../../parts/page.tsx";
import { usePropertyView } from "../../parts/property-view.tsx";
import { useRange } from "../../parts/range.tsx";
import { Badge, Instant } from "../../parts/values.tsx";
import { InsightFilters, ofProperty, PropertyPage, useFeeds } from "./property-page.tsx";

const NIGHTS_SHOWN = 365;

export const CalendarPage = ofProperty(function Calendar({ codes }) {
  const firstOfMonth = `${usePropertyView().today.slice(0, 7)}-01`;
  const range = useRange({ from: firstOfMonth, to: addDays(firstOfMonth, NIGHTS_SHOWN - 1) });
  const asked = useAnswer<CalendarAnswer>(addressOf("calendar", { ...codes, ...range }));
  return (
    <PropertyPage
      codes={codes}
      title="Data health"
      lead="Feed status and missing stay dates."
      actions={
        <ExportButtons
          name={`nights-${range.from}`}
          csv="date inventory receivedAt sourceTime"
          of={asked.data?.nights ?? []}
        />
      }
    >
      <FeedHealth codes={codes} />
      <Section title="Nights of inventory" aside={<Legend />}>
        <InsightFilters range={range} />
        <Answered asked={asked} lines={12}>
          {(answer) => <SentNights answer={answer} codes={codes} />}
        </Answered>
      </Section>
    </PropertyPage>
  );
});

function SentNights({ answer, codes }: { answer: CalendarAnswer; codes: PropertyCodes }) {
  const missing = answer.nights.filter(({ inventory }) => inventory === "missing");
  const months = [...Map.groupBy(answer.nights, ({ date }) => date.slice(0, 7))];
  const last = months.findLastIndex(([, nights]) => nights.some(({ inventory }) => isMarked(inventory)));
  const shown = months.slice(0, Math.max(last + 1, 1));
  const empty = months.slice(shown.length).map(([month]) => writeMonth(`${month}-01`));
  return (
    <>
      {answer.firstNight === null && (
        <Notice title="No inventory was ever sent">
          Nights show here with the first batch of inventories.
        </Notice>
      )}
      {missing.length > 0 && (
        <Notice tone="warn" title={`${writeMany(missing.length, "night is", "nights are")} missing`}>
          Inventory was sent for nights before and after. Ask the sender to push{" "}
          {missing.length === 1 ? "it" : "them"} again, or the full range.
        </Notice>
      )}
      <Months
        nights={shown.flatMap(([, nights]) => nights)}
        dateOf={({ date }) => date}
        cell={(night) => <Night night={night} codes={codes} />}
        note={(nights) => <MissingOf nights={nights} />}
      />
      {empty.length !== 0 && (
        <p className="months-after muted">
          Nothing was sent for {empty[0]}
          {empty.length === 1 ? "" : ` to ${empty.at(-1)}`}.
        </p>
      )}
    </>
  );
}

function isMarked(inventory: CalendarNight["inventory"]): boolean {
  return inventory === "reported" || inventory === "missing";
}

function MissingOf({ nights }: { nights: readonly CalendarNight[] }) {
  const missing = nights.filter(({ inventory }) => inventory === "missing").length;
  return missing === 0 ? null : <span className="bad small">{missing} missing</span>;
}

function Night({ night, codes }: { night: CalendarNight; codes: PropertyCodes }) {
  const { date, inventory } = night;
  const day = Number(date.slice(8));
  if (inventory === "reported")
    return (
      <Link
        className="night"
        data-heat={ageStepOf(night.receivedAt)}
        to={historyPath(codes, "inventories", date)}
        aria-label={`${writeDate(date)}, received ${ageOf(night.receivedAt)}`}
        title={`${writeDate(date)}, received ${ageOf(night.receivedAt)}`}
      >
        {day}
      </Link>
    );
  return (
    <span className="night" data-state={inventory} title={`${writeDate(date)}: ${inventory}`}>
      {day}
      {inventory === "missing" && <span className="unseen"> missing</span>}
    </span>
  );
}

const DAY_MS = 86_400_000;

/** Darker steps are older: within a day, within a week, earlier. */
function ageStepOf(receivedAt: string | null): number {
  const days = (Date.now() - Date.parse(receivedAt ?? "")) / DAY_MS;
  if (days <= 1) return 1;
  return days <= 7 ? 2 : 3;
}

const ageOf = (receivedAt: string | null) => (receivedAt === null ? "never" : writeAgo(receivedAt));

function Legend() {
  return (
    <p className="legend">
      <span>
        <i data-heat="1" /> received within a day
      </span>
      <span>
        <i data-heat="2" /> within a week
      </span>
      <span>
        <i data-heat="3" /> longer ago
      </span>
      <span>
        <i className="night" data-state="missing" /> missing
      </span>
      <span>unmarked: before the first or after the last</span>
    </p>
  );
}

const FEEDS_CSV =
  "resource lastReceivedAt silent silentHours cadenceHours expectedCadenceHours batches records rejectionRate warningRate quarantined missingNightCount staleNightCount";

function FeedHealth({ codes }: { codes: PropertyCodes }) {
  const asked = useFeeds(codes);
  return (
    <Section
      title="Feeds"
      aside={
        <div className="badges">
          <p>Rates cover the last seven days.</p>
          <ExportButtons name="feeds" csv={FEEDS_CSV} of={asked.data?.items ?? []} />
        </div>
      }
    >
      <Answered asked={asked} lines={4}>
        {({ items }) => (
          <>
            <Unmapped items={items} codes={codes} />
            <Table
              caption="Feeds of this property"
              columns={columnsOf(codes)}
              rows={items}
              empty={<Empty title="No feed of this property has sent a batch yet" />}
              keyOf={({ resource }) => resource}
            />
          </>
        )}
      </Answered>
    </Section>
  );
}

function columnsOf(codes: PropertyCodes): readonly Column<FeedHealthItem>[] {
  return [
    { head: "Feed", lead: true, cell: ({ resource }) => resource },
    { head: "State", cell: (feed) => <FeedState feed={feed} /> },
    { head: "Last batch", cell: ({ lastReceivedAt }) => <Instant at={lastReceivedAt} as="ago" /> },
    figure("Usually every", ({ cadenceHours }) => cadenceHours, writeHours),
    figure("Expected every", ({ expectedCadenceHours }) => expectedCadenceHours, writeHours),
    figure("Batches", ({ batches }) => batches, writeCount),
    figure("Records", ({ records }) => records, writeCount),
    figure("Rejected", ({ rejectionRate }) => rejectionRate, writeShare),
    figure("With warnings", ({ warningRate }) => warningRate, writeShare),
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

function FeedState({ feed }: { feed: FeedHealthItem }) {
  if (feed.lastReceivedAt === null) return <span className="muted">never sent</span>;
  return (
    <span className="badges">
      {feed.silent ? <Badge tone="bad">silent</Badge> : <span>on time</span>}
      {feed.missingNightCount > 0 && (
        <Badge tone="warn">{writeMany(feed.missingNightCount, "night")} missing</Badge>
      )}
      {feed.staleNightCount > 0 && (
        <Badge tone="warn">{writeMany(feed.staleNightCount, "night")} not renewed</Badge>
      )}
    </span>
  );
}

function writeHours(value: number): string {
  // Intervals have two decimals of an hour (36 s); shorter ones occur during an initial load.
  if (value < 1 / 60) return "< 1 min";
  return writeDuration(value * 3600);
}

function Unmapped({ items, codes }: { items: readonly FeedHealthItem[]; codes: PropertyCodes }) {
  const statuses = items.flatMap(({ unmappedLabels }) => unmappedLabels);
  if (statuses.length === 0) return null;
  const records = statuses.reduce((sum, status) => sum + status.records, 0);
  const words = statuses
    .slice(0, 5)
    .map(({ label }) => label)
    .join(", ");
  return (
    <Notice
      tone="warn"
      title={`${writeMany(records, "record")} under unmapped statuses: ${words}`}
      action={<Link to={propertyPath("/settings", codes)}>Map them</Link>}
    >
      They do not count on the books until their statuses are mapped.
    </Notice>
  );
}
