import { Link } from "wouter";
import type { BlocksAnswer, BlocksItem, PropertyCodes } from "../../contract.ts";
import { useAnswer } from "../../data/queries.ts";
import { writeCount, writeMany } from "../../field/amounts.ts";
import { historyPath } from "../../field/property-path.ts";
import { addDays, today, writeDate } from "../../field/stay-date.ts";
import { Badge } from "../../parts/badge.tsx";
import { CsvButton } from "../../parts/export-button.tsx";
import { Choice } from "../../parts/field.tsx";
import { Pager } from "../../parts/pager.tsx";
import { Answered, Empty } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { useFilters } from "../../routing/filters.ts";
import {
  InsightFilters,
  PointInTimeFilters,
  useInsightAddress,
  useRange,
  Watermark,
} from "./insight-filters.tsx";
import { PropertyPage, useCodes } from "./property-page.tsx";

const NIGHTS_SHOWN = 90;
const LIMIT = 500;

/** Group blocks by night: held, picked up, left, given back. */
export function BlocksPage() {
  const range = useRange({ from: today(), to: addDays(today(), NIGHTS_SHOWN - 1) });
  const { filters, change } = useFilters();
  const byRoomType = filters.get("by") === "roomType";
  const codes = useCodes();
  const address = useInsightAddress("blocks", codes, range, {
    by: byRoomType ? "roomType" : undefined,
    limit: LIMIT,
  });
  const asked = useAnswer<BlocksAnswer>(address);
  return (
    <PropertyPage
      title="Blocks"
      lead="Rooms held for groups: what of them is picked up, what is left, and what was given back."
      actions={<CsvButton name={`blocks-${range.from}`} address={address} />}
    >
      {(known) => (
        <>
          <InsightFilters range={range}>
            <Choice
              label="By"
              value={byRoomType ? "roomType" : ""}
              options={[
                ["", "Group"],
                ["roomType", "Room type"],
              ]}
              onChange={(by) => change({ by })}
            />
            <PointInTimeFilters />
          </InsightFilters>
          <Answered asked={asked} lines={10}>
            {({ items, nextCursor, watermark, knownFrom }) => (
              <>
                {items.length === 0 ? (
                  <Empty title="No group holds rooms in these nights">
                    A group's block counts once its status label holds rooms.
                  </Empty>
                ) : (
                  <Table
                    caption="Group blocks by night"
                    narrow="scroll"
                    columns={columnsOf(known, byRoomType)}
                    rows={items}
                    keyOf={({ stayDate, group, roomType }) =>
                      JSON.stringify([stayDate, group, roomType ?? null])
                    }
                  />
                )}
                <Pager nextCursor={nextCursor} shown={writeMany(items.length, "row")} />
                <Watermark watermark={watermark} knownFrom={knownFrom} />
              </>
            )}
          </Answered>
        </>
      )}
    </PropertyPage>
  );
}

function columnsOf(codes: PropertyCodes, byRoomType: boolean): readonly Column<BlocksItem>[] {
  const roomType: Column<BlocksItem>[] = byRoomType
    ? [{ head: "Room type", cell: (item) => item.roomType ?? <span className="muted">–</span> }]
    : [];
  const count = (value: number | null) =>
    value === null ? <span className="muted">–</span> : writeCount(value);
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
          <Link to={historyPath(codes, "groups", group)}>{group}</Link>
          {name === null ? null : <span className="muted"> {name}</span>}
        </>
      ),
    },
    ...roomType,
    { head: "Label", cell: ({ label, holds }) => <GroupLabel label={label} holds={holds} /> },
    { head: "Held", end: true, cell: ({ blocks }) => count(blocks) },
    { head: "Picked up", end: true, cell: ({ pickedUp }) => count(pickedUp) },
    { head: "By reservations", end: true, cell: ({ pickedUpRebuilt }) => count(pickedUpRebuilt) },
    { head: "Left", end: true, cell: ({ remaining }) => count(remaining) },
    { head: "Wash", end: true, cell: ({ wash }) => count(wash) },
    { head: "Cutoff", cell: ({ cutoffDate }) => cutoffDate ?? <span className="muted">–</span> },
  ];
}

function GroupLabel({ label, holds }: { readonly label: string | null; readonly holds: boolean | null }) {
  if (label === null) return <span className="muted">–</span>;
  return holds === null ? <Badge tone="warn">{label}: unmapped</Badge> : label;
}
