import type { BlocksAnswer, BlocksItem, PropertyCodes } from "../../contract.ts";
import { useAnswer } from "../../data/queries.ts";
import { addDays, today, writeCount, writeDate } from "../../field/format.ts";
import { AddressChoice } from "../../parts/field.tsx";
import { type Column, CsvButton, List } from "../../parts/list.tsx";
import { Empty } from "../../parts/page.tsx";
import { Badge, HistoryLink, orDash } from "../../parts/values.tsx";
import { useFilters } from "../../routing/filters.ts";
import {
  InsightFilters,
  PointInTimeFilters,
  PropertyPage,
  useCodes,
  useInsightAddress,
  useRange,
  Watermark,
} from "./property-page.tsx";

const NIGHTS_SHOWN = 90;
const LIMIT = 500;

export function BlocksPage() {
  const range = useRange({ from: today(), to: addDays(today(), NIGHTS_SHOWN - 1) });
  const byRoomType = useFilters().filters.get("by") === "roomType";
  const codes = useCodes();
  const address = useInsightAddress("blocks", codes, range, {
    by: byRoomType ? "roomType" : undefined,
    limit: LIMIT,
  });
  const asked = useAnswer<BlocksAnswer>(address);
  return (
    <PropertyPage
      title="Blocks"
      lead="Rooms held for groups: picked up, left, and released."
      actions={<CsvButton name={`blocks-${range.from}`} address={address} />}
    >
      {(known) => (
        <>
          <InsightFilters range={range}>
            <AddressChoice name="by" label="By" options={{ "": "Group", roomType: "Room type" }} />
            <PointInTimeFilters />
          </InsightFilters>
          <List
            asked={asked}
            caption="Group blocks by night"
            narrow="scroll"
            columns={columnsOf(known, byRoomType)}
            keyOf={({ stayDate, group, roomType }) => JSON.stringify([stayDate, group, roomType ?? null])}
            noun={["row"]}
            empty={
              <Empty title="No group holds rooms in these nights">
                A group's block counts once its status label holds rooms.
              </Empty>
            }
            lines={10}
          />
          <Watermark watermark={asked.data?.watermark} knownFrom={asked.data?.knownFrom} />
        </>
      )}
    </PropertyPage>
  );
}

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
          {name === null ? null : <span className="muted"> {name}</span>}
        </>
      ),
    },
    ...(byRoomType ? [roomType] : []),
    { head: "Label", cell: ({ label, holds }) => <GroupLabel label={label} holds={holds} /> },
    { head: "Held", end: true, cell: ({ blocks }) => writeCount(blocks) },
    { head: "Picked up", end: true, cell: ({ pickedUp }) => orDash(pickedUp, writeCount) },
    { head: "By reservations", end: true, cell: ({ pickedUpRebuilt }) => writeCount(pickedUpRebuilt) },
    { head: "Left", end: true, cell: ({ remaining }) => writeCount(remaining) },
    { head: "Wash", end: true, cell: ({ wash }) => orDash(wash, writeCount) },
    { head: "Cutoff", cell: ({ cutoffDate }) => orDash(cutoffDate) },
  ];
}

function GroupLabel({ label, holds }: { label: string | null; holds: boolean | null }) {
  if (label === null) return orDash(label);
  return holds === null ? <Badge tone="warn">{label}: unmapped</Badge> : label;
}
