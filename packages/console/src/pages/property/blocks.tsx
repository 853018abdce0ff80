import type { BlocksAnswer, BlocksItem, PropertyCodes } from "../../contract.ts";
import { askWhole } from "../../data/queries.ts";
import {
  addDays,
  daysBetween,
  writeCount,
  writeDate,
  writeDay,
  writeMany,
  writeShare,
  writeWeekday,
} from "../../field/format.ts";
import { AddressChoice } from "../../parts/field.tsx";
import { type Column, figure, Table } from "../../parts/list.tsx";
import { Empty, Figures } from "../../parts/page.tsx";
import { usePropertyView } from "../../parts/property-view.tsx";
import { Badge, HistoryLink, orDash, Share } from "../../parts/values.tsx";
import {
  CutNotice,
  InsightPage,
  nightColumns,
  ofProperty,
  PointInTimeFilters,
  useByRoomType,
  useInsight,
  usePointInTime,
} from "./property-page.tsx";

const NIGHTS_SHOWN = 90;

export const BlocksPage = ofProperty(function Blocks({ codes }) {
  const by = useByRoomType();
  const { today } = usePropertyView();
  const nights = { from: today, to: addDays(today, NIGHTS_SHOWN - 1) };
  const insight = useInsight<BlocksAnswer>("blocks", codes, nights, { by }, askWhole);
  const day = usePointInTime().asOf?.slice(0, 10) ?? today;
  return (
    <InsightPage
      codes={codes}
      title="Blocks"
      lead="Groups that hold rooms in these nights, the one with the most rooms left to sell per day first."
      insight={insight}
      filters={
        <>
          <AddressChoice name="by" label="Nights by" options={{ "": "Group", roomType: "Room type" }} />
          <PointInTimeFilters />
        </>
      }
      lines={10}
    >
      {({ items, nextCursor }) => (
        <Groups
          groups={groupsOf(items, day)}
          nextCursor={nextCursor}
          codes={codes}
          byRoomType={by !== undefined}
        />
      )}
    </InsightPage>
  );
});

/** A group summed over its nights; rooms are room nights. */
interface Group extends Pick<BlocksItem, "group" | "name" | "label" | "holds" | "cutoffDate"> {
  readonly nights: readonly BlocksItem[];
  readonly arrival: string;
  readonly departure: string;
  readonly blocks: number;
  /** Null: the master reports none. */
  readonly pickedUp: number | null;
  readonly remaining: number;
  /** Null: the group has no cutoff. Negative: it has passed. */
  readonly daysToCutoff: number | null;
  /** Remaining rooms per day until the cutoff, or until the arrival if there is no cutoff. */
  readonly leftPerDay: number;
}

function groupsOf(items: readonly BlocksItem[], day: string): readonly Group[] {
  const groups = [...Map.groupBy(items, ({ group }) => group).values()].map((nights): Group => {
    const [first] = nights as [BlocksItem];
    const { group, name, label, holds, cutoffDate } = first;
    const sum = (count: (night: BlocksItem) => number) => nights.reduce((all, each) => all + count(each), 0);
    const remaining = sum((night) => night.remaining);
    const daysToCutoff = cutoffDate === null ? null : daysBetween(day, cutoffDate);
    const daysLeft = daysToCutoff ?? daysBetween(day, first.stayDate);
    return {
      group,
      name,
      label,
      holds,
      cutoffDate,
      nights,
      arrival: first.stayDate,
      departure: addDays(nights.at(-1)?.stayDate ?? first.stayDate, 1),
      blocks: sum(({ blocks }) => blocks),
      pickedUp: nights.every(({ pickedUp }) => pickedUp === null)
        ? null
        : sum(({ pickedUp }) => pickedUp ?? 0),
      remaining,
      daysToCutoff,
      leftPerDay: remaining / Math.max(daysLeft, 1),
    };
  });
  return groups.toSorted((one, other) => other.leftPerDay - one.leftPerDay);
}

const isPastCutoff = ({ daysToCutoff, remaining }: Group) =>
  daysToCutoff !== null && daysToCutoff < 0 && remaining > 0;

const shareOf = (pickedUp: number | null, blocks: number) =>
  pickedUp === null || blocks <= 0 ? null : pickedUp / blocks;

interface GroupsProps {
  readonly groups: readonly Group[];
  readonly nextCursor: string | null;
  readonly codes: PropertyCodes;
  readonly byRoomType: boolean;
}

function Groups({ groups, nextCursor, codes, byRoomType }: GroupsProps) {
  if (groups.length === 0)
    return (
      <Empty title="No group holds rooms in these nights">
        A group's block counts once its status holds rooms.
      </Empty>
    );
  const sum = (count: (group: Group) => number) => groups.reduce((all, each) => all + count(each), 0);
  const [blocks, pickedUp] = [sum((group) => group.blocks), sum((group) => group.pickedUp ?? 0)];
  const past = groups.filter(isPastCutoff);
  return (
    <>
      <CutNotice nextCursor={nextCursor} />
      <Figures
        figures={[
          { name: "Groups", value: writeCount(groups.length), note: "hold rooms in these nights" },
          { name: "Contracted", value: writeCount(blocks), note: "room nights" },
          {
            name: "Picked up",
            value: orDash(shareOf(pickedUp, blocks), writeShare),
            note: writeMany(pickedUp, "room night"),
          },
          {
            name: "Remaining",
            value: writeCount(sum(({ remaining }) => remaining)),
            note: "room nights held and not picked up",
          },
          {
            name: "Past cutoff, still held",
            value: writeCount(past.reduce((all, { remaining }) => all + remaining, 0)),
            note: `room nights of ${writeMany(past.length, "group")}`,
          },
        ]}
      />
      <Table
        caption="Groups, the most at risk first"
        columns={GROUP_COLUMNS}
        rows={groups}
        keyOf={({ group }) => group}
        detail={{
          of: ({ group, nights }) => (
            <div className="stack">
              <Table
                caption={`Nights of ${group}`}
                narrow="scroll"
                columns={[...nightColumns(byRoomType), ...NIGHT_FIGURES]}
                rows={nights}
                keyOf={({ stayDate, roomType }) => JSON.stringify([stayDate, roomType ?? null])}
              />
              <p className="small">
                Versions of <HistoryLink codes={codes} resource="groups" of={group} />
              </p>
            </div>
          ),
        }}
      />
      <p className="pager muted">
        {writeMany(groups.length, "group")}. Rooms are room nights of the chosen nights.
      </p>
    </>
  );
}

const GROUP_COLUMNS: readonly Column<Group>[] = [
  {
    head: "Group",
    lead: true,
    cell: ({ group, name }) => (
      <>
        {name ?? group} {name !== null && <span className="small muted nowrap">{group}</span>}
      </>
    ),
  },
  { head: "Status", cell: ({ label, holds }) => <GroupStatus status={label} holds={holds} /> },
  { head: "Arrival", cell: ({ arrival }) => <Day of={arrival} /> },
  { head: "Departure", cell: ({ departure }) => <Day of={departure} /> },
  figure("Contracted", ({ blocks }) => blocks, writeCount),
  figure("Picked up", ({ pickedUp }) => pickedUp, writeCount),
  figure(
    "Pickup, %",
    ({ pickedUp, blocks }) => shareOf(pickedUp, blocks),
    (share) => <Share of={share} />,
  ),
  figure("Remaining", ({ remaining }) => remaining, writeCount),
  { head: "Cutoff", cell: (group) => <Cutoff group={group} /> },
];

const Day = ({ of }: { of: string }) => (
  <span className="nowrap" title={writeDate(of)}>
    {writeWeekday(of)} {writeDay(of)}
  </span>
);

function Cutoff({ group }: { group: Group }) {
  const { cutoffDate, daysToCutoff } = group;
  if (cutoffDate === null || daysToCutoff === null) return orDash(null);
  const day = <span className="muted">{writeDay(cutoffDate)}</span>;
  if (isPastCutoff(group))
    return (
      <span className="nowrap">
        <Badge tone="bad">{writeMany(-daysToCutoff, "day")} past</Badge> {day}
      </span>
    );
  const days =
    daysToCutoff < 0 ? "passed" : daysToCutoff === 0 ? "today" : `in ${writeMany(daysToCutoff, "day")}`;
  return (
    <span className="nowrap">
      {days} {day}
    </span>
  );
}

const NIGHT_FIGURES: readonly Column<BlocksItem>[] = [
  figure("Blocked", ({ blocks }) => blocks, writeCount),
  figure("Picked up", ({ pickedUp }) => pickedUp, writeCount),
  figure("Picked up (reservations)", ({ pickedUpRebuilt }) => pickedUpRebuilt, writeCount),
  figure("Remaining", ({ remaining }) => remaining, writeCount),
  figure("Originally", ({ originalBlocks }) => originalBlocks, writeCount),
  figure("Wash", ({ wash }) => wash, writeCount),
];

function GroupStatus({ status, holds }: { status: string | null; holds: boolean | null }) {
  if (status === null) return orDash(status);
  return holds === null ? <Badge tone="warn">{status}: unmapped</Badge> : status;
}
