import { Link } from "wouter";
import type {
  Finding,
  NightReconciliationAnswer,
  NightReservationItem,
  PropertyCodes,
  ReconciliationAnswer,
  ReconciliationItem,
} from "../../contract.ts";
import { addressOf, useAnswer } from "../../data/queries.ts";
import {
  addDays,
  isStayDate,
  today,
  writeCount,
  writeDate,
  writeMany,
  writeSigned,
} from "../../field/format.ts";
import { Button } from "../../parts/button.tsx";
import { AddressChoice } from "../../parts/field.tsx";
import { type Column, Pager, Table } from "../../parts/list.tsx";
import { Answered, Empty, Figures, Section } from "../../parts/page.tsx";
import { Badge, Disclosure, HistoryLink, orDash, RequestLink, Word } from "../../parts/values.tsx";
import { useFilters, withChanges } from "../../routing/filters.ts";
import {
  InsightPage,
  ofProperty,
  PointInTimeFilters,
  useByRoomType,
  useInsight,
  usePointInTime,
} from "./property-page.tsx";

const NIGHTS_SHOWN = 35;

export const ReconciliationPage = ofProperty(function Reconciliation({ codes }) {
  const by = useByRoomType();
  const nights = { from: today(), to: addDays(today(), NIGHTS_SHOWN - 1) };
  const night = useFilters().filters.get("night");
  return (
    <InsightPage
      codes={codes}
      title="Reconciliation"
      lead="Rooms sold as inventory reports them, against rooms rebuilt from reservations; each night opens to the records behind it."
      insight={useInsight<ReconciliationAnswer>("reconciliation", codes, nights, { by })}
      filters={
        <>
          <AddressChoice name="nights" label="Nights" options={{ differing: "That differ", all: "All" }} />
          <AddressChoice name="by" label="By" options={{ "": "Night", roomType: "Room type" }} />
          <PointInTimeFilters />
        </>
      }
      intro={night !== null && isStayDate(night) ? <NightDrillDown codes={codes} night={night} /> : null}
      lines={12}
    >
      {(answer) => <Nights answer={answer} codes={codes} />}
    </InsightPage>
  );
});

function Nights({ answer, codes }: { answer: ReconciliationAnswer; codes: PropertyCodes }) {
  const { filters } = useFilters();
  const { items, nextCursor } = answer;
  const differing = items.filter(({ difference }) => difference !== null && difference !== 0);
  const unreported = items.filter(({ reported }) => reported === null);
  const shown = filters.get("nights") === "all" ? items : differing;
  const sum = differing.reduce((total, { difference }) => total + Math.abs(difference ?? 0), 0);
  return (
    <>
      <Figures
        figures={[
          {
            name: "Compared",
            value: writeCount(items.length - unreported.length),
            note: "stay dates compared",
          },
          {
            name: "Differ",
            value: writeCount(differing.length),
            note: differing.length === 0 ? "all agree" : "open one to see why",
          },
          { name: "Total room variance", value: writeCount(sum), note: "over all of them" },
          { name: "Not reported", value: writeCount(unreported.length), note: "no inventory for the night" },
        ]}
      />
      <Table
        caption="Reported and rebuilt rooms by night"
        narrow="scroll"
        columns={columnsOf(codes, filters.get("by") === "roomType")}
        rows={shown}
        empty={<NothingDiffers hasReports={items.length > unreported.length} />}
        keyOf={({ stayDate, roomType }) => JSON.stringify([stayDate, roomType ?? null])}
      />
      <Pager
        nextCursor={nextCursor}
        shown={`${writeMany(shown.length, "row")}; transient and group as reported / rebuilt`}
      />
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

function columnsOf(codes: PropertyCodes, byRoomType: boolean): readonly Column<ReconciliationItem>[] {
  const roomType: Column<ReconciliationItem> = { head: "Room type", cell: (item) => orDash(item.roomType) };
  const search = new URLSearchParams({ ...codes }).toString();
  return [
    {
      head: "Night",
      lead: true,
      cell: ({ stayDate }) => (
        <Link
          className="nowrap"
          to={withChanges("/property/reconciliation", currentSearch(search), { night: stayDate })}
        >
          {writeDate(stayDate)}
        </Link>
      ),
    },
    ...(byRoomType ? [roomType] : []),
    { head: "Reported", end: true, cell: ({ reported }) => orDash(reported, writeCount) },
    { head: "Rebuilt", end: true, cell: ({ rebuilt }) => writeCount(rebuilt) },
    { head: "Difference", end: true, cell: ({ difference }) => <Difference rooms={difference} /> },
    { head: "Transient", end: true, cell: (item) => pair(item.reportedTransient, item.rebuiltTransient) },
    { head: "Group", end: true, cell: (item) => pair(item.reportedGroup, item.rebuiltGroup) },
    { head: "Blocks remaining", end: true, cell: ({ unpickedBlocks }) => writeCount(unpickedBlocks) },
    {
      head: "Reported in",
      cell: ({ requestId, index }) =>
        requestId === null || index === null ? (
          <span className="muted">no report</span>
        ) : (
          <RequestLink requestId={requestId} index={index} />
        ),
    },
  ];
}

/** The address keeps its range and filters when a night is opened. */
function currentSearch(fallback: string): string {
  return location.search === "" ? fallback : location.search;
}

function pair(reported: number | null, rebuilt: number) {
  return (
    <>
      {orDash(reported, writeCount)}
      <span className="muted"> / {writeCount(rebuilt)}</span>
    </>
  );
}

/** Positive where inventory reports more. */
function Difference({ rooms }: { rooms: number | null }) {
  if (rooms === null) return orDash(rooms);
  return rooms === 0 ? "0" : <Badge tone="bad">{writeSigned(rooms)}</Badge>;
}

const RESERVATIONS_LIMIT = 1000;

function NightDrillDown({ codes, night }: { codes: PropertyCodes; night: string }) {
  const { change } = useFilters();
  const point = usePointInTime();
  const asked = useAnswer<NightReconciliationAnswer>(
    addressOf("insight/reconciliation/night", {
      ...codes,
      ...point,
      stayDate: night,
      limit: RESERVATIONS_LIMIT,
    }),
  );
  return (
    <Section
      title={writeDate(night)}
      aside={<Button onClick={() => change({ night: undefined })}>Close this night</Button>}
    >
      <Answered asked={asked} lines={6}>
        {(answer) => <Night answer={answer} codes={codes} />}
      </Answered>
    </Section>
  );
}

function Night({ answer, codes }: { answer: NightReconciliationAnswer; codes: PropertyCodes }) {
  const { night, findings, reservations } = answer;
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
      <Table
        caption="What may explain the difference, the likeliest first"
        rows={findings}
        empty={<Empty title="Nothing differs on this night" />}
        keyOf={(finding) => JSON.stringify([finding.kind, finding.roomType, finding.records])}
        columns={findingColumns(codes)}
      />
      <Disclosure
        summary={`${answer.nextCursor === null ? "" : "The first "}${writeMany(reservations.length, "reservation")} with this night`}
      >
        <Table
          caption="Reservations with this night"
          narrow="scroll"
          rows={reservations}
          keyOf={(one) => JSON.stringify([one.reservationId, one.roomType, one.group])}
          columns={reservationColumns(codes)}
        />
      </Disclosure>
    </div>
  );
}

function findingColumns(codes: PropertyCodes): readonly Column<Finding>[] {
  return [
    { head: "Possible cause", lead: true, cell: ({ kind }) => <Word>{kind.replaceAll("-", " ")}</Word> },
    { head: "Why", prose: true, cell: ({ message }) => message },
    { head: "Room type", cell: ({ roomType }) => orDash(roomType) },
    { head: "Rooms", end: true, cell: ({ rooms }) => writeSigned(rooms) },
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

function reservationColumns(codes: PropertyCodes): readonly Column<NightReservationItem>[] {
  return [
    {
      head: "Reservation",
      lead: true,
      cell: ({ reservationId }) => <HistoryLink codes={codes} resource="reservations" of={reservationId} />,
    },
    { head: "Status", cell: (one) => <Status one={one} /> },
    { head: "Rooms", end: true, cell: ({ rooms }) => rooms },
    { head: "Counted", end: true, cell: ({ counted }) => counted },
    { head: "Room type", cell: ({ roomType }) => orDash(roomType) },
    { head: "Group", cell: ({ group }) => orDash(group) },
    { head: "Share", cell: ({ shareId }) => orDash(shareId) },
    { head: "Stay", cell: ({ arrival, departure }) => `${arrival} to ${departure}` },
    { head: "From", cell: (one) => <RequestLink {...one} /> },
  ];
}

function Status({ one: { label, deducts } }: { one: NightReservationItem }) {
  if (label === null) return orDash(label);
  if (deducts === null) return <Badge tone="warn">{label}: unmapped</Badge>;
  return <Badge tone={deducts ? "accent" : "plain"}>{label}</Badge>;
}
