import type { ReactNode } from "react";
import { Link } from "wouter";
import { Months } from "../../charts/months.tsx";
import type {
  FeedHealthAnswer,
  OnTheBooksItem,
  PickupAnswer,
  PropertyCodes,
  ReconciliationAnswer,
} from "../../contract.ts";
import { addressOf, useAnswer } from "../../data/queries.ts";
import {
  addDays,
  addMoney,
  datesBetween,
  propertyPath,
  writeCount,
  writeDate,
  writeMany,
  writeShare,
  writeSigned,
  writeSignedMoney,
} from "../../field/format.ts";
import { type Column, ExportButtons, Table } from "../../parts/list.tsx";
import { Answered, Empty, Figures, Section } from "../../parts/page.tsx";
import { usePropertyView } from "../../parts/property-view.tsx";
import type { Range } from "../../parts/range.tsx";
import { Badge, Word } from "../../parts/values.tsx";
import { KeyFigures, roomsOf, useBooks } from "./nights.tsx";
import {
  NoSuchProperty,
  ofProperty,
  PropertyPage,
  pickupName,
  ROWS_MAX,
  useFeeds,
} from "./property-page.tsx";

const NIGHTS_SUMMED = 30;
const NIGHTS_SHOWN = 90;

export const OverviewPage = ofProperty(function Overview({ codes }) {
  const { today: from } = usePropertyView();
  const range = { from, to: addDays(from, NIGHTS_SHOWN - 1) };
  const summed = { from, to: addDays(from, NIGHTS_SUMMED - 1) };
  return (
    <PropertyPage
      codes={codes}
      title="Overview"
      lead="The next 90 nights, what came in, and what needs attention."
      actions={
        <ExportButtons
          name={`overview-${from}`}
          of={addressOf("insight/on-the-books", { ...codes, ...range, limit: ROWS_MAX })}
        />
      }
    >
      <Section title="Next 30 nights" aside={<p>Compared with the same weekdays at this time last year.</p>}>
        <KeyFigures codes={codes} range={summed} isDated />
      </Section>
      <NeedsAttention codes={codes} range={summed} />
      <Section
        title="Pickup of the next 30 nights"
        aside={<Link to={propertyPath("/property/pickup", codes)}>By day</Link>}
      >
        <div className="side-by-side">
          <Pickup codes={codes} range={summed} days={1} name={pickupName(1)} />
          <Pickup codes={codes} range={summed} days={7} name={pickupName(7)} />
        </div>
      </Section>
      <Nights codes={codes} range={range} />
    </PropertyPage>
  );
});

interface PickupProps {
  readonly codes: PropertyCodes;
  readonly range: Range;
  readonly days: number;
  readonly name: string;
}

function Pickup({ codes, range, days, name }: PickupProps) {
  const address = addressOf("insight/pickup", { ...codes, ...range, days, limit: ROWS_MAX });
  return (
    <Answered asked={useAnswer<PickupAnswer>(address)} lines={3}>
      {({ items }) => <Figures figures={pickedUp(items, name)} />}
    </Answered>
  );
}

function pickedUp(items: PickupAnswer["items"], name: string) {
  const revenues = Map.groupBy(
    items.filter(({ roomRevenue }) => roomRevenue !== null),
    ({ currency }) => currency,
  );
  const booked = items.reduce((sum, item) => sum + item.booked, 0);
  const cancelled = items.reduce((sum, item) => sum + item.cancelled, 0);
  return [
    {
      name,
      value: writeSigned(roomsOf(items)),
      note: `${writeMany(booked, "room")} booked, ${writeCount(cancelled)} cancelled`,
    },
    ...[...revenues].map(([currency, some]) => ({
      name: `Room revenue, ${currency ?? "no currency"}`,
      value: writeSignedMoney(addMoney(some.map(({ roomRevenue }) => roomRevenue ?? "0"))),
      note: "net",
    })),
  ];
}

interface Concern {
  readonly what: ReactNode;
  readonly why: string;
  readonly to: string;
  readonly link: string;
}

const CONCERN_COLUMNS: readonly Column<Concern>[] = [
  { head: "What", lead: true, cell: ({ what }) => what },
  { head: "Why", prose: true, cell: ({ why }) => why },
  { head: "Where", cell: ({ to, link }) => <Link to={to}>{link}</Link> },
];

function NeedsAttention({ codes, range }: { codes: PropertyCodes; range: Range }) {
  const feeds = useFeeds(codes);
  const compared = useAnswer<ReconciliationAnswer>(
    addressOf("insight/reconciliation", { ...codes, ...range, limit: ROWS_MAX }),
  );
  return (
    <Section title="Needs attention">
      <Answered asked={feeds} lines={2}>
        {({ items }) =>
          items.length === 0 ? (
            <NoSuchProperty codes={codes} />
          ) : (
            <Table
              caption="What needs attention"
              columns={CONCERN_COLUMNS}
              rows={[
                ...feedConcerns(items, codes),
                ...varianceConcerns(compared.data?.items ?? [], codes, range),
              ]}
              keyOf={({ why }) => why}
              empty={
                <Empty title="Nothing needs attention">
                  Feeds arrive on time, and inventory and reservations agree.
                </Empty>
              }
            />
          )
        }
      </Answered>
    </Section>
  );
}

function feedConcerns(feeds: FeedHealthAnswer["items"], codes: PropertyCodes): Concern[] {
  const health = propertyPath("/property/calendar", codes);
  return feeds.flatMap(
    ({ resource, silent, silentHours, quarantined, unmappedLabels, missingNightCount }): Concern[] => {
      const concerns: Concern[] = [];
      if (silent)
        concerns.push({
          what: <Badge tone="bad">{resource} silent</Badge>,
          why: `No ${resource} for ${writeMany(Math.round(silentHours ?? 0), "hour")}.`,
          to: health,
          link: "Feeds",
        });
      if (quarantined > 0)
        concerns.push({
          what: <Badge tone="warn">quarantine</Badge>,
          why: `${writeMany(quarantined, "record")} of ${resource} quarantined.`,
          to: propertyPath("/quarantine", codes),
          link: "Quarantine",
        });
      if (unmappedLabels.length > 0)
        concerns.push({
          what: <Badge tone="warn">unmapped statuses</Badge>,
          why: `${writeMany(
            unmappedLabels.reduce((sum, { records }) => sum + records, 0),
            "record",
          )} of ${resource} under ${unmappedLabels.map(({ label }) => label).join(", ")} do not count.`,
          to: propertyPath("/settings", codes),
          link: "Settings",
        });
      if (missingNightCount > 0)
        concerns.push({
          what: <Badge tone="warn">missing nights</Badge>,
          why: `Inventory left out ${writeMany(missingNightCount, "night")}.`,
          to: health,
          link: "Data health",
        });
      return concerns;
    },
  );
}

function varianceConcerns(
  nights: ReconciliationAnswer["items"],
  codes: PropertyCodes,
  range: Range,
): Concern[] {
  const differing = nights.filter(({ difference }) => difference !== null && difference !== 0);
  const rooms = differing.reduce((sum, { difference }) => sum + Math.abs(difference ?? 0), 0);
  if (differing.length === 0) return [];
  return [
    {
      what: <Badge tone="warn">variance</Badge>,
      why: `Inventory and reservations differ on ${writeMany(differing.length, "night")} of the next ${NIGHTS_SUMMED}, by ${writeMany(rooms, "room")} in all.`,
      to: propertyPath("/property/reconciliation", codes, { ...range }),
      link: "Reconciliation",
    },
  ];
}

function Nights({ codes, range }: { codes: PropertyCodes; range: Range }) {
  const asked = useBooks(codes, range);
  return (
    <Section title="Next 90 nights" aside={<Legend />}>
      <Answered asked={asked} lines={12}>
        {({ items }) => {
          const byNight = Map.groupBy(items, ({ stayDate }) => stayDate);
          return (
            <Months
              nights={datesBetween(range.from, range.to)}
              dateOf={(night) => night}
              cell={(night) => (
                <Occupancy
                  night={night}
                  items={byNight.get(night) ?? []}
                  to={propertyPath("/property/on-the-books", codes, { ...range, night })}
                />
              )}
            />
          );
        }}
      </Answered>
    </Section>
  );
}

interface OccupancyProps {
  readonly night: string;
  readonly items: readonly OnTheBooksItem[];
  readonly to: string;
}

/** Each currency has its share of the night's occupancy. */
function Occupancy({ night, items, to }: OccupancyProps) {
  const isKnown = items.some(({ occupancy }) => occupancy !== null);
  const share = items.reduce((sum, { occupancy }) => sum + Number(occupancy ?? 0), 0);
  const percent = Math.round(share * 100);
  const rooms = writeMany(roomsOf(items), "room");
  const said = `${writeDate(night)}: ${isKnown ? `${writeShare(share)}, ` : ""}${rooms}`;
  return (
    <Link className="night filled" data-heat={isKnown ? heatOf(percent) : 0} to={to} title={said}>
      <span className="unseen">{said}</span>
      <span aria-hidden="true">{Number(night.slice(8))}</span>
      <b aria-hidden="true">{isKnown ? percent : "–"}</b>
    </Link>
  );
}

const STEPS = [
  [0, "below 40"],
  [40, "40 to 59"],
  [60, "60 to 74"],
  [75, "75 to 89"],
  [90, "90 and more"],
] as const;

const heatOf = (percent: number) => STEPS.findLastIndex(([from]) => percent >= from) + 1;

function Legend() {
  return (
    <p className="legend">
      <span>Occupancy, %</span>
      {STEPS.map(([from, text]) => (
        <span key={from}>
          <i data-heat={heatOf(from)} /> <Word>{text}</Word>
        </span>
      ))}
    </p>
  );
}
