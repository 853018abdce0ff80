import type { BlocksAnswer, BlocksItem, PropertyCodes } from "../../contract.ts";
import { addDays, today, writeCount, writeDate, writeMany } from "../../field/format.ts";
import { AddressChoice } from "../../parts/field.tsx";
import { type Column, Pager, Table } from "../../parts/list.tsx";
import { Empty } from "../../parts/page.tsx";
import { Badge, HistoryLink, orDash } from "../../parts/values.tsx";
import { InsightPage, ofProperty, PointInTimeFilters, useByRoomType, useInsight } from "./property-page.tsx";

const NIGHTS_SHOWN = 90;

export const BlocksPage = ofProperty(function Blocks({ codes }) {
  const by = useByRoomType();
  const nights = { from: today(), to: addDays(today(), NIGHTS_SHOWN - 1) };
  const insight = useInsight<BlocksAnswer>("blocks", codes, nights, { by });
  return (
    <InsightPage
      codes={codes}
      title="Blocks"
      lead="Rooms blocked for groups: picked up, remaining and released."
      insight={insight}
      filters={
        <>
          <AddressChoice name="by" label="By" options={{ "": "Group", roomType: "Room type" }} />
          <PointInTimeFilters />
        </>
      }
      lines={10}
    >
      {({ items, nextCursor }) => (
        <>
          <Table
            caption="Group blocks by night"
            narrow="scroll"
            columns={columnsOf(codes, by !== undefined)}
            rows={items}
            empty={
              <Empty title="No group holds rooms in these nights">
                A group's block counts once its status holds rooms.
              </Empty>
            }
            keyOf={({ stayDate, group, roomType }) => JSON.stringify([stayDate, group, roomType ?? null])}
          />
          <Pager nextCursor={nextCursor} shown={writeMany(items.length, "row")} />
        </>
      )}
    </InsightPage>
  );
});

function columnsOf(codes: PropertyCodes, byRoomType: boolean): readonly Column<BlocksItem>[] {
  const roomType: Column<BlocksItem> = { head: "Room type", cell: (item) => orDash(item.roomType) };
  return [
    {
      head: "Night",
      lead: true,
      cell: ({ stayDate }) => <span className="nowrap">{writeDate(stayDate)}</span>,
    },
    {
      head: "Group",
      cell: ({ group, name }) => (
        <>
          <HistoryLink codes={codes} resource="groups" of={group} />
          {name !== null && <span className="muted"> {name}</span>}
        </>
      ),
    },
    ...(byRoomType ? [roomType] : []),
    { head: "Status", cell: ({ label, holds }) => <GroupStatus status={label} holds={holds} /> },
    { head: "Blocked", end: true, cell: ({ blocks }) => writeCount(blocks) },
    { head: "Picked up", end: true, cell: ({ pickedUp }) => orDash(pickedUp, writeCount) },
    {
      head: "Picked up (reservations)",
      end: true,
      cell: ({ pickedUpRebuilt }) => writeCount(pickedUpRebuilt),
    },
    { head: "Remaining", end: true, cell: ({ remaining }) => writeCount(remaining) },
    { head: "Wash", end: true, cell: ({ wash }) => orDash(wash, writeCount) },
    { head: "Cutoff", cell: ({ cutoffDate }) => orDash(cutoffDate) },
  ];
}

function GroupStatus({ status, holds }: { status: string | null; holds: boolean | null }) {
  if (status === null) return orDash(status);
  return holds === null ? <Badge tone="warn">{status}: unmapped</Badge> : status;
}
