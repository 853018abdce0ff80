import { Link } from "wouter";
import type { OnTheBooksItem, PropertyCodes } from "../../contract.ts";
import { writeCount, writeDate, writeMoney, writeShare } from "../../field/format.ts";
import { propertyPath } from "../../field/property-path.ts";
import { isWeekend } from "../../field/stay-date.ts";
import { type Column, Table } from "../../parts/table.tsx";
import { orDash } from "../../parts/values.tsx";

/** What nights may be told apart by. */
export type Grouping = Extract<
  keyof OnTheBooksItem,
  "roomType" | "bookedRoomType" | "marketSegment" | "rateCode" | "channel" | "group"
>;

const GROUP_HEADS: Readonly<Record<Grouping, string>> = {
  roomType: "Room type",
  bookedRoomType: "Booked room type",
  marketSegment: "Market segment",
  rateCode: "Rate code",
  channel: "Channel",
  group: "Group",
};

interface NightsTableProps {
  readonly items: readonly OnTheBooksItem[];
  readonly by: Grouping | undefined;
  readonly codes: PropertyCodes;
}

/** The figures of each night, grouping and currency. */
export function NightsTable({ items, by, codes }: NightsTableProps) {
  return (
    <Table
      caption="On the books by night"
      narrow="scroll"
      columns={columnsOf(by, codes)}
      rows={items}
      keyOf={(item) =>
        JSON.stringify([item.stayDate, by === undefined ? "" : (item[by] ?? null), item.currency])
      }
      rowClass={({ stayDate }) => (isWeekend(stayDate) ? "weekend" : undefined)}
    />
  );
}

/**
 * Blocks and rooms under unmapped labels have no price, so they come as a row of their own, without rooms and without a currency.
 * Where the night has another row, theirs are added to that: it changes neither its rooms nor anything counted from them.
 */
export function withoutBareRows(
  items: readonly OnTheBooksItem[],
  by: Grouping | undefined,
): readonly OnTheBooksItem[] {
  const nameOf = (item: OnTheBooksItem) =>
    JSON.stringify([item.stayDate, by === undefined ? null : (item[by] ?? null)]);
  const isBare = ({ rooms, currency, roomRevenue }: OnTheBooksItem) =>
    rooms === 0 && currency === null && roomRevenue === null;
  const whole = new Map<string, OnTheBooksItem>();
  for (const item of items) if (!isBare(item) && !whole.has(nameOf(item))) whole.set(nameOf(item), item);
  const added = new Map<OnTheBooksItem, OnTheBooksItem>();
  for (const bare of items) {
    const target = isBare(bare) ? whole.get(nameOf(bare)) : undefined;
    if (target === undefined) continue;
    const { blocksRemaining, unmappedRooms, adults, children } = added.get(target) ?? target;
    added.set(target, {
      ...target,
      blocksRemaining: blocksRemaining + bare.blocksRemaining,
      unmappedRooms: unmappedRooms + bare.unmappedRooms,
      adults: adults + bare.adults,
      children: children + bare.children,
    });
  }
  return items
    .filter((item) => !isBare(item) || !whole.has(nameOf(item)))
    .map((item) => added.get(item) ?? item);
}

function columnsOf(by: Grouping | undefined, codes: PropertyCodes): readonly Column<OnTheBooksItem>[] {
  const grouping: Column<OnTheBooksItem>[] =
    by === undefined
      ? []
      : [{ head: GROUP_HEADS[by], cell: (item) => item[by] ?? <span className="muted">none</span> }];
  return [
    {
      head: "Night",
      lead: true,
      cell: ({ stayDate }) => (
        <Link className="nowrap" to={propertyPath("/property/pace", codes, { from: stayDate, to: stayDate })}>
          {writeDate(stayDate)}
        </Link>
      ),
    },
    ...grouping,
    { head: "Rooms", end: true, cell: ({ rooms }) => writeCount(rooms) },
    { head: "Capacity", end: true, cell: ({ capacity }) => orDash(capacity, writeCount) },
    { head: "Occupancy", end: true, cell: ({ occupancy }) => <Occupancy share={occupancy} /> },
    { head: "Room revenue", end: true, cell: ({ roomRevenue }) => orDash(roomRevenue, writeMoney) },
    { head: "ADR", end: true, cell: ({ adr }) => orDash(adr, writeMoney) },
    { head: "RevPAR", end: true, cell: ({ revpar }) => orDash(revpar, writeMoney) },
    { head: "Currency", cell: ({ currency }) => orDash(currency) },
    { head: "Blocks left", end: true, cell: ({ blocksRemaining }) => writeCount(blocksRemaining) },
    { head: "Unmapped", end: true, cell: ({ unmappedRooms }) => writeCount(unmappedRooms) },
    { head: "Guests", end: true, cell: ({ adults, children }) => writeCount(adults + children) },
  ];
}

function Occupancy({ share }: { readonly share: string | null }) {
  // The place of the bar is kept, so that all figures end at one line.
  if (share === null)
    return (
      <span className="muted">
        –<span className="share-bar none" />
      </span>
    );
  const width = `${Math.min(Math.max(Number(share), 0), 1) * 100}%`;
  return (
    <>
      {writeShare(share)}
      <span className="share-bar" aria-hidden="true">
        <i style={{ width }} />
      </span>
    </>
  );
}
