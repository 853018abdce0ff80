import { Link } from "wouter";
import type { PropertyCodes, ReconciliationAnswer, ReconciliationItem } from "../../contract.ts";
import { useAnswer } from "../../data/queries.ts";
import { writeCount, writeDate, writeMany, writeSigned } from "../../field/format.ts";
import { addDays, isStayDate, today } from "../../field/stay-date.ts";
import { AddressChoice } from "../../parts/field.tsx";
import { CsvButton, Pager } from "../../parts/list.tsx";
import { Figures } from "../../parts/page.tsx";
import { Answered, Empty } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Badge, orDash, RequestLink } from "../../parts/values.tsx";
import { useFilters, withChanges } from "../../routing/filters.ts";
import {
  InsightFilters,
  PointInTimeFilters,
  type Range,
  useInsightAddress,
  useRange,
  Watermark,
} from "./insight-filters.tsx";
import { NightDrillDown } from "./night-drill-down.tsx";
import { PropertyPage, useCodes } from "./property-page.tsx";

const NIGHTS_SHOWN = 35;
const LIMIT = 1000;

/** Rooms sold as inventory reports them, against rooms rebuilt from reservations, night by night. */
export function ReconciliationPage() {
  const range = useRange({ from: today(), to: addDays(today(), NIGHTS_SHOWN - 1) });
  const { filters } = useFilters();
  const codes = useCodes();
  const byRoomType = filters.get("by") === "roomType";
  const address = useInsightAddress("reconciliation", codes, range, {
    by: byRoomType ? "roomType" : undefined,
    limit: LIMIT,
  });
  const asked = useAnswer<ReconciliationAnswer>(address);
  const night = filters.get("night");
  return (
    <PropertyPage
      title="Reconciliation"
      lead="Rooms sold as inventory reports them, against rooms rebuilt from reservations; each night opens to the records behind it."
      actions={<CsvButton name={`reconciliation-${range.from}`} address={address} />}
    >
      {(known) => (
        <>
          <ReconciliationFilters range={range} />
          {night !== null && isStayDate(night) ? <NightDrillDown codes={known} night={night} /> : null}
          <Answered asked={asked} lines={12}>
            {(answer) => <Nights answer={answer} codes={known} />}
          </Answered>
        </>
      )}
    </PropertyPage>
  );
}

function ReconciliationFilters({ range }: { readonly range: Range }) {
  return (
    <InsightFilters range={range}>
      <AddressChoice name="nights" label="Nights" options={{ differing: "That differ", all: "All" }} />
      <AddressChoice name="by" label="By" options={{ "": "Night", roomType: "Room type" }} />
      <PointInTimeFilters />
    </InsightFilters>
  );
}

function Nights({ answer, codes }: { readonly answer: ReconciliationAnswer; readonly codes: PropertyCodes }) {
  const { filters } = useFilters();
  const { items, nextCursor, watermark, knownFrom } = answer;
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
            note: "rows with a report",
          },
          {
            name: "Differ",
            value: writeCount(differing.length),
            note: differing.length === 0 ? "all agree" : "open one to see why",
          },
          { name: "Rooms apart", value: writeCount(sum), note: "in all of them" },
          { name: "Not reported", value: writeCount(unreported.length), note: "no inventory for the night" },
        ]}
      />
      {shown.length === 0 ? (
        <Empty
          title={items.length === unreported.length ? "Nothing to compare" : "Every reported night agrees"}
        >
          {items.length === unreported.length
            ? "No inventory was sent for these nights."
            : "Rooms sold equal the rooms of the reservations on the books, night by night."}
        </Empty>
      ) : (
        <Table
          caption="Reported and rebuilt rooms by night"
          narrow="scroll"
          columns={columnsOf(codes, filters.get("by") === "roomType")}
          rows={shown}
          keyOf={({ stayDate, roomType }) => JSON.stringify([stayDate, roomType ?? null])}
        />
      )}
      <Pager
        nextCursor={nextCursor}
        shown={`${writeMany(shown.length, "row")}; transient and group as reported / rebuilt`}
      />
      <Watermark watermark={watermark} knownFrom={knownFrom} />
    </>
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
    { head: "Blocks left", end: true, cell: ({ unpickedBlocks }) => writeCount(unpickedBlocks) },
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

/** As inventory reports it, and as it was rebuilt. */
function pair(reported: number | null, rebuilt: number) {
  return (
    <>
      {orDash(reported, writeCount)}
      <span className="muted"> / {writeCount(rebuilt)}</span>
    </>
  );
}

/** Rooms apart: positive where the hotel counts more. */
function Difference({ rooms }: { readonly rooms: number | null }) {
  if (rooms === null) return orDash(rooms);
  return rooms === 0 ? "0" : <Badge tone="bad">{writeSigned(rooms)}</Badge>;
}
