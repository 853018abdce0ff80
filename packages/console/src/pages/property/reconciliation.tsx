import { Link } from "wouter";
import { NightlyChart } from "../../charts/chart.tsx";
import type {
  Finding,
  NightReconciliationAnswer,
  NightReservationItem,
  PropertyCodes,
  ReconciliationAnswer,
  ReconciliationItem,
} from "../../contract.ts";
import { addressOf, askWhole, useAnswer, useAnswers } from "../../data/queries.ts";
import {
  addDays,
  isStayDate,
  writeCount,
  writeDay,
  writeDayOfYear,
  writeMany,
  writeMoney,
  writeSigned,
} from "../../field/format.ts";
import { AddressChoice } from "../../parts/field.tsx";
import { type Column, figure, Table } from "../../parts/list.tsx";
import { Answered, Empty, Figures, Section } from "../../parts/page.tsx";
import { usePropertyView } from "../../parts/property-view.tsx";
import { Badge, Disclosure, HistoryLink, Instant, orDash, RequestLink, Word } from "../../parts/values.tsx";
import { useFilters } from "../../routing/filters.ts";
import {
  CutNotice,
  InsightPage,
  nightColumns,
  ofProperty,
  PointInTimeFilters,
  ROWS_MAX,
  useByRoomType,
  useInsight,
  usePointInTime,
} from "./property-page.tsx";

const NIGHTS_SHOWN = 35;

export const ReconciliationPage = ofProperty(function Reconciliation({ codes }) {
  const by = useByRoomType();
  const night = useFilters().filters.get("night") ?? "";
  const { today } = usePropertyView();
  const [first, last] = [today, addDays(today, NIGHTS_SHOWN - 1)];
  const nights = {
    from: isStayDate(night) && night < first ? night : first,
    to: isStayDate(night) && night > last ? night : last,
  };
  const insight = useInsight<ReconciliationAnswer>("reconciliation", codes, nights, { by }, askWhole);
  return (
    <InsightPage
      codes={codes}
      title="Reconciliation"
      lead="Why rooms sold as inventory reports them differ from rooms rebuilt from reservations."
      insight={insight}
      filters={
        <>
          <AddressChoice name="nights" label="Nights" options={{ differing: "That differ", all: "All" }} />
          <AddressChoice name="by" label="By" options={{ "": "Night", roomType: "Room type" }} />
          <PointInTimeFilters />
        </>
      }
      lines={12}
    >
      {(answer) => <Nights answer={answer} codes={codes} />}
    </InsightPage>
  );
});

function Nights({ answer, codes }: { answer: ReconciliationAnswer; codes: PropertyCodes }) {
  const { filters } = useFilters();
  const { items, nextCursor } = answer;
  const opened = filters.get("night");
  const differing = items.filter(({ difference }) => difference !== null && difference !== 0);
  const unreported = items.filter(({ reported }) => reported === null);
  const shown =
    filters.get("nights") === "all"
      ? items
      : items.filter((item) => differing.includes(item) || item.stayDate === opened);
  const sum = differing.reduce((total, { difference }) => total + Math.abs(difference ?? 0), 0);
  const requests = new Map(
    items.flatMap((item) => (item.requestId === null ? [] : [[item.requestId, item]])),
  );
  const [[onlyRequest] = []] = requests.size === 1 ? requests : [];
  return (
    <>
      <CutNotice nextCursor={nextCursor} />
      <Figures
        figures={[
          {
            name: "Compared",
            value: writeCount(items.length - unreported.length),
            note:
              onlyRequest === undefined ? (
                "stay dates compared"
              ) : (
                <>
                  all reported in <RequestLink requestId={onlyRequest} />
                </>
              ),
          },
          {
            name: "Differ",
            value: writeCount(differing.length),
            note: differing.length === 0 ? "all agree" : "open one to see why",
          },
          { name: "Total room variance", value: writeCount(sum), note: "rooms, over all nights compared" },
          { name: "Not reported", value: writeCount(unreported.length), note: "no inventory for the night" },
        ]}
      />
      {differing.length !== 0 && (
        <>
          <TopCauses differing={differing} codes={codes} />
          <VarianceChart items={items} />
        </>
      )}
      <Table
        caption="Reported and rebuilt rooms by night"
        narrow="scroll"
        columns={columnsOf(filters.get("by") === "roomType", onlyRequest === undefined)}
        rows={shown}
        empty={<NothingDiffers hasReports={items.length > unreported.length} />}
        keyOf={({ stayDate, roomType }) => JSON.stringify([stayDate, roomType ?? null])}
        detail={{
          of: ({ stayDate }) => <NightDrillDown codes={codes} night={stayDate} />,
          startsOpen: ({ stayDate }) => stayDate === opened,
        }}
      />
      {shown.length !== 0 && <p className="pager muted">{writeMany(shown.length, "row")}</p>}
    </>
  );
}

function NothingDiffers({ hasReports }: { hasReports: boolean }) {
  if (!hasReports) return <Empty title="Nothing to compare">No inventory was sent for these nights.</Empty>;
  return (
    <Empty title="Every reported night agrees">
      Rooms sold equal the rooms on the books for every night.
    </Empty>
  );
}

/** The sum of a night's room types; null if inventory does not report the night. */
function VarianceChart({ items }: { items: readonly ReconciliationItem[] }) {
  const byNight = [...Map.groupBy(items, ({ stayDate }) => stayDate)];
  return (
    <NightlyChart
      nights={byNight.map(([night]) => night)}
      label="Rooms reported less rooms rebuilt, by night"
      unit="Rooms reported less rebuilt"
      height={160}
      series={[
        {
          name: "Variance",
          kind: "bars",
          values: byNight.map(([, rows]) =>
            rows.every(({ difference }) => difference === null)
              ? null
              : rows.reduce((sum, { difference }) => sum + (difference ?? 0), 0),
          ),
          write: writeSigned,
        },
      ]}
    />
  );
}

/** Each night needs a request. */
const NIGHTS_EXPLAINED = 8;

/** The causes of the largest differences. */
function TopCauses({ differing, codes }: { differing: readonly ReconciliationItem[]; codes: PropertyCodes }) {
  const point = usePointInTime();
  const largest = differing.toSorted((a, b) => Math.abs(b.difference ?? 0) - Math.abs(a.difference ?? 0));
  const nights = [...new Set(largest.map(({ stayDate }) => stayDate))];
  const explained = nights.slice(0, NIGHTS_EXPLAINED);
  const asked = useAnswers<NightReconciliationAnswer>(
    explained.map((stayDate) =>
      addressOf("insight/reconciliation/night", { ...codes, ...point, stayDate, limit: 1 }),
    ),
  );
  return (
    <Section
      title="Causes"
      aside={
        <p>
          {explained.length === nights.length
            ? "Of all nights that differ."
            : `Of the ${explained.length} nights that differ most.`}
        </p>
      }
    >
      <Answered asked={asked} lines={4}>
        {(answers) => <Causes answers={answers} codes={codes} />}
      </Answered>
    </Section>
  );
}

/** One kind of explanation across nights. */
interface Cause {
  readonly kind: Finding["kind"];
  /** The room nights it explains, counted on the nights where it applies. */
  readonly rooms: number;
  readonly nights: readonly string[];
  /** The sum, over the nights, of 1 divided by the kind's first place among the findings. */
  readonly places: number;
  /** Distinct findings: one that covers several nights is returned with each. */
  readonly candidates: readonly Finding[];
}

const isFitting = ({ nights, nightsExplained }: Finding) => nights > 0 && nightsExplained === nights;

/** Of several nights, the kinds that come first on most of them; the service lists the likeliest cause of a night first. */
function causesOf(answers: readonly NightReconciliationAnswer[]): readonly Cause[] {
  const found = answers.flatMap((answer) => answer.findings.map((finding) => ({ answer, finding })));
  const causes = [...Map.groupBy(found, ({ finding }) => finding.kind)].map(([kind, cases]): Cause => {
    const byNight = Map.groupBy(cases, ({ answer }) => answer);
    let rooms = 0;
    for (const [answer, ofNight] of byNight)
      for (const { roomType, difference } of answer.roomTypes) {
        const fitting = ofNight.filter(
          ({ finding }) =>
            finding.roomType === (roomType ?? null) &&
            isFitting(finding) &&
            Math.sign(finding.rooms) === Math.sign(difference ?? 0),
        );
        const explained = fitting.reduce((sum, { finding }) => sum + Math.abs(finding.rooms), 0);
        rooms += Math.min(explained, Math.abs(difference ?? 0));
      }
    let places = 0;
    for (const [{ findings }] of byNight) places += 1 / (1 + findings.findIndex((one) => one.kind === kind));
    const candidates = new Map(cases.map(({ finding }) => [keyOfFinding(finding), finding]));
    return {
      kind,
      rooms,
      nights: [...byNight.keys()].map(({ night }) => night.stayDate).toSorted(),
      candidates: [...candidates.values()],
      places,
    };
  });
  return causes.toSorted((one, other) => other.places - one.places || other.rooms - one.rooms);
}

const keyOfFinding = ({ kind, roomType, rooms, message, records }: Finding) =>
  JSON.stringify([kind, roomType, rooms, message, records.map(({ resource, key }) => [resource, key])]);

const CAUSES_FIRST = 3;

function Causes({ answers, codes }: { answers: readonly NightReconciliationAnswer[]; codes: PropertyCodes }) {
  const causes = causesOf(answers);
  const others = causes.slice(CAUSES_FIRST);
  const table = (caption: string, rows: readonly Cause[]) => (
    <Table
      caption={caption}
      rows={rows}
      empty={<Empty title="Nothing differs" />}
      keyOf={({ kind }) => kind}
      columns={CAUSE_COLUMNS}
      detail={{
        of: ({ kind, candidates }) => (
          <Table
            caption={`Candidates: ${wordsOf(kind)}`}
            narrow="scroll"
            rows={candidates}
            keyOf={keyOfFinding}
            columns={findingColumns(codes)}
          />
        ),
      }}
    />
  );
  return (
    <>
      {table("What may explain the difference, the likeliest first", causes.slice(0, CAUSES_FIRST))}
      {others.length !== 0 && (
        <Disclosure summary={`${writeMany(others.length, "less likely cause")}`}>
          {table("Less likely causes", others)}
        </Disclosure>
      )}
    </>
  );
}

function wordsOf(kind: string): string {
  const words = kind.replaceAll("-", " ").replace("label", "status");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const CAUSE_COLUMNS: readonly Column<Cause>[] = [
  { head: "Possible cause", lead: true, cell: ({ kind }) => wordsOf(kind) },
  { head: "Explains up to", end: true, cell: ({ rooms }) => writeMany(rooms, "room") },
  {
    head: "Nights",
    cell: ({ nights }) => {
      const [first = "", last = ""] = [nights[0], nights.at(-1)];
      const span = first === last ? writeDay(first) : `${writeDay(first)} to ${writeDay(last)}`;
      return (
        <span className="nowrap">
          {nights.length} <span className="muted">({span})</span>
        </span>
      );
    },
  },
  figure("Candidates", ({ candidates }) => candidates.length, writeCount),
  figure("Fit every night", ({ candidates }) => candidates.filter(isFitting).length, writeCount),
];

function columnsOf(byRoomType: boolean, hasRequests: boolean): readonly Column<ReconciliationItem>[] {
  const request: Column<ReconciliationItem> = {
    head: "Reported in",
    cell: ({ requestId, index }) =>
      requestId === null || index === null ? (
        <span className="muted">no report</span>
      ) : (
        <RequestLink requestId={requestId} index={index} />
      ),
  };
  return [
    ...nightColumns(byRoomType),
    figure("Reported", ({ reported }) => reported, writeCount),
    figure("Rebuilt", ({ rebuilt }) => rebuilt, writeCount),
    { head: "Difference", end: true, cell: ({ difference }) => <Difference rooms={difference} /> },
    {
      head: "Transient, reported / rebuilt",
      end: true,
      cell: (item) => pair(item.reportedTransient, item.rebuiltTransient),
    },
    {
      head: "Group, reported / rebuilt",
      end: true,
      cell: (item) => pair(item.reportedGroup, item.rebuiltGroup),
    },
    figure("Blocks remaining", ({ unpickedBlocks }) => unpickedBlocks, writeCount),
    ...(hasRequests ? [request] : []),
  ];
}

function pair(reported: number | null, rebuilt: number) {
  return (
    <>
      {orDash(reported, writeCount)}
      <span className="muted"> / {writeCount(rebuilt)}</span>
    </>
  );
}

/** Positive if inventory reports more. */
function Difference({ rooms }: { rooms: number | null }) {
  if (rooms === null) return orDash(rooms);
  return rooms === 0 ? "0" : <strong className="bad">{writeSigned(rooms)}</strong>;
}

function NightDrillDown({ codes, night }: { codes: PropertyCodes; night: string }) {
  const parameters = { ...codes, ...usePointInTime(), stayDate: night, limit: ROWS_MAX };
  const asked = useAnswer<NightReconciliationAnswer>(addressOf("insight/reconciliation/night", parameters));
  return (
    <Answered asked={asked} lines={6}>
      {(answer) => <Night answer={answer} codes={codes} />}
    </Answered>
  );
}

function Night({ answer, codes }: { answer: NightReconciliationAnswer; codes: PropertyCodes }) {
  const { night, reservations } = answer;
  return (
    <div className="stack">
      <p>
        Inventory reports <strong>{night.reported ?? "nothing"}</strong>, reservations come to{" "}
        <strong>{night.rebuilt}</strong>
        {night.difference !== null && (
          <>
            : <strong>{writeSigned(night.difference)}</strong>
          </>
        )}
        .{" "}
        {night.unpickedBlocks > 0
          ? `Groups hold ${writeMany(night.unpickedBlocks, "more room")} not picked up.`
          : ""}
      </p>
      <Causes answers={[answer]} codes={codes} />
      <Disclosure
        summary={`${answer.nextCursor === null ? "" : "The first "}${writeMany(reservations.length, "reservation")} with this night`}
      >
        <ReservationsTable caption="Reservations with this night" rows={reservations} codes={codes} />
      </Disclosure>
    </div>
  );
}

function findingColumns(codes: PropertyCodes): readonly Column<Finding>[] {
  return [
    { head: "Why", prose: true, cell: ({ message }) => message },
    { head: "What to do", prose: true, cell: ({ action }) => action },
    { head: "Room type", cell: ({ roomType }) => orDash(roomType) },
    figure("Rooms", ({ rooms }) => rooms, writeSigned),
    {
      head: "Nights it fits",
      end: true,
      cell: ({ nights, nightsExplained }) => `${nightsExplained} of ${nights}`,
    },
    {
      head: "Records",
      cell: ({ records }) => (
        <span className="records">
          {records.slice(0, 4).map(({ resource, key, requestId, index }) => (
            <span key={`${requestId} ${index}`}>
              <HistoryLink codes={codes} resource={resource} of={key} />{" "}
              <Link className="small muted" to={`/requests/${requestId}/${index}`}>
                record
              </Link>
            </span>
          ))}
        </span>
      ),
    },
  ];
}

interface ReservationsProps {
  readonly caption: string;
  readonly rows: readonly NightReservationItem[];
  readonly codes: PropertyCodes;
  readonly counted?: Pick<Column<NightReservationItem>, "head" | "cell">;
}

const COUNTED = { head: "Counted", cell: ({ counted }: NightReservationItem) => counted };

/** `counted`: the head and the value of the column of counted rooms. */
export function ReservationsTable({ caption, rows, codes, counted = COUNTED }: ReservationsProps) {
  const columns: readonly Column<NightReservationItem>[] = [
    {
      head: "Reservation",
      lead: true,
      cell: ({ reservationId }) => <HistoryLink codes={codes} resource="reservations" of={reservationId} />,
    },
    { head: "Status", cell: (one) => <Status one={one} /> },
    { head: "Rooms", end: true, cell: ({ rooms }) => rooms },
    { head: counted.head, end: true, cell: counted.cell },
    { head: "Segment", cell: ({ marketSegment }) => orDash(marketSegment) },
    { head: "Rate code", cell: ({ rateCode }) => orDash(rateCode) },
    figure("Room revenue", ({ roomRevenue }) => roomRevenue, writeMoney),
    { head: "Booked", cell: ({ bookedAt }) => orDash(bookedAt, (at) => <Instant at={at} />) },
    { head: "Room type", cell: ({ roomType }) => orDash(roomType) },
    { head: "Group", cell: ({ group }) => orDash(group) },
    { head: "Share", cell: ({ shareId }) => orDash(shareId) },
    {
      head: "Stay",
      cell: ({ arrival, departure }) => <Word>{`${writeDay(arrival)} to ${writeDayOfYear(departure)}`}</Word>,
    },
    { head: "From", cell: (one) => <RequestLink {...one} /> },
  ];
  return (
    <Table
      caption={caption}
      narrow="scroll"
      rows={rows}
      keyOf={(one) => JSON.stringify([one.reservationId, one.roomType, one.group])}
      columns={columns}
    />
  );
}

function Status({ one: { label, deducts } }: { one: NightReservationItem }) {
  if (label === null) return orDash(label);
  if (deducts === null) return <Badge tone="warn">{label}: unmapped</Badge>;
  return <Badge tone={deducts ? "accent" : "plain"}>{label}</Badge>;
}
