import { Link } from "wouter";
import type {
  NightReconciliationAnswer,
  OnTheBooksAnswer,
  OnTheBooksItem,
  PropertyCodes,
} from "../../contract.ts";
import { addressOf, useAnswer } from "../../data/queries.ts";
import {
  addDays,
  addMoney,
  propertyPath,
  subtractMoney,
  writeCount,
  writeDate,
  writeMany,
  writeMoney,
  writeSigned,
  writeSignedMoney,
  YEAR_DAYS,
} from "../../field/format.ts";
import { Button } from "../../parts/button.tsx";
import { type Column, ExportButtons, figure, Table } from "../../parts/list.tsx";
import { Answered, Empty, Section } from "../../parts/page.tsx";
import { Disclosure } from "../../parts/values.tsx";
import { useFilters } from "../../routing/filters.ts";
import {
  GROUPINGS,
  type Grouping,
  KeyFigures,
  lastYearItems,
  nameOfGroup,
  roomsOf,
  useBooks,
} from "./nights.tsx";
import { currenciesOf, ROWS_MAX, usePointInTime } from "./property-page.tsx";
import { ReservationsTable } from "./reconciliation.tsx";

interface NightProps {
  readonly codes: PropertyCodes;
  readonly night: string;
  readonly by: Grouping;
}

/** One night compared with last year, by group, with its reservations. */
export function NightOnTheBooks({ codes, night, by }: NightProps) {
  const { change } = useFilters();
  const range = { from: night, to: night };
  const asked = useBooks(codes, range, by);
  return (
    <Section
      title={writeDate(night)}
      aside={
        <span className="badges">
          <Link to={propertyPath("/property/pace", codes, range)}>Pace</Link>
          <Link to={propertyPath("/property/reconciliation", codes, { ...range, night })}>
            Reconciliation
          </Link>
          <Button onClick={() => change({ night: undefined })}>Close this night</Button>
        </span>
      }
    >
      <KeyFigures codes={codes} range={range} />
      <Answered asked={asked} lines={5}>
        {(answer) => <GroupsOfNight answer={answer} by={by} before={addDays(night, -YEAR_DAYS)} />}
      </Answered>
      <Reservations codes={codes} night={night} />
    </Section>
  );
}

interface GroupRow {
  readonly name: string;
  readonly rooms: number;
  readonly lastRooms: number | null;
  readonly revenue: string;
  readonly lastRevenue: string | null;
}

interface GroupsProps {
  readonly answer: OnTheBooksAnswer;
  readonly by: Grouping;
  /** Last year's night. */
  readonly before: string;
}

function GroupsOfNight({ answer, by, before }: GroupsProps) {
  const byText = GROUPINGS[by];
  const [currency] = currenciesOf(answer.items);
  const lastYear = lastYearItems(answer.items);
  const known = lastYear.length === 0 ? undefined : lastYear;
  const rows = groupRows(answer.items, known, by, currency);
  const columns: readonly Column<GroupRow>[] = [
    { head: `${byText.charAt(0).toUpperCase()}${byText.slice(1)}`, lead: true, cell: ({ name }) => name },
    figure("Rooms", ({ rooms }) => rooms, writeCount),
    figure("Last year", ({ lastRooms }) => lastRooms, writeCount),
    figure("Change", ({ rooms, lastRooms }) => (lastRooms === null ? null : rooms - lastRooms), writeSigned),
    figure(
      currency === undefined ? "Room revenue" : `Room revenue, ${currency}`,
      ({ revenue }) => revenue,
      writeMoney,
    ),
    figure("Revenue last year", ({ lastRevenue }) => lastRevenue, writeMoney),
    figure(
      "Change of revenue",
      ({ revenue, lastRevenue }) => lastRevenue && subtractMoney(revenue, lastRevenue),
      writeSignedMoney,
    ),
  ];
  return (
    <>
      <Table
        caption={`Rooms of the night by ${byText}, the largest change first`}
        narrow="scroll"
        columns={known === undefined ? columns.filter(({ head }) => !/last|change/i.test(head)) : columns}
        rows={rows}
        keyOf={({ name }) => name}
        empty={<Empty title="No rooms on this night, nor last year" />}
      />
      <p className="small muted">
        {known === undefined
          ? `No data for last year (${writeDate(before)}).`
          : `Last year: ${writeDate(before)}, as known at the same time then.`}
      </p>
    </>
  );
}

function groupRows(
  items: readonly OnTheBooksItem[],
  before: readonly OnTheBooksItem[] | undefined,
  by: Grouping,
  currency: string | undefined,
): GroupRow[] {
  const revenueOf = (some: readonly OnTheBooksItem[]) =>
    addMoney(some.filter((item) => item.currency === currency).map(({ roomRevenue }) => roomRevenue ?? "0"));
  const of = (name: string) => (item: OnTheBooksItem) => nameOfGroup(item, by) === name;
  const names = new Set([...items, ...(before ?? [])].map((item) => nameOfGroup(item, by)));
  return [...names]
    .map((name): GroupRow => {
      const [own, then] = [items.filter(of(name)), before?.filter(of(name))];
      return {
        name,
        rooms: roomsOf(own),
        lastRooms: then === undefined ? null : roomsOf(then),
        revenue: revenueOf(own),
        lastRevenue: then === undefined ? null : revenueOf(then),
      };
    })
    .filter(({ rooms, lastRooms }) => rooms !== 0 || (lastRooms ?? 0) !== 0)
    .toSorted((one, other) => movedOf(other) - movedOf(one));
}

const movedOf = ({ rooms, lastRooms }: GroupRow) => Math.abs(rooms - (lastRooms ?? 0));

const CSV =
  "reservationId label deducts rooms counted roomType bookedRoomType group shareId arrival departure sourceTime requestId index";

function Reservations({ codes, night }: { codes: PropertyCodes; night: string }) {
  const parameters = { ...codes, ...usePointInTime(), stayDate: night, limit: ROWS_MAX };
  const address = addressOf("insight/reconciliation/night", parameters);
  const asked = useAnswer<NightReconciliationAnswer>(address);
  return (
    <Answered asked={asked} lines={3}>
      {({ reservations, nextCursor }) => {
        const counted = reservations.filter((one) => one.counted > 0);
        const first = nextCursor === null ? "" : "the first ";
        return (
          <Disclosure
            summary={`${writeMany(
              counted.reduce((sum, one) => sum + one.counted, 0),
              "room",
            )} of ${first}${writeMany(counted.length, "reservation")}`}
          >
            <ReservationsTable
              caption="Reservations that make up the rooms of the night"
              rows={counted}
              codes={codes}
            />
            <ExportButtons name={`reservations-${night}`} of={address} member="reservations" csv={CSV} />
          </Disclosure>
        );
      }}
    </Answered>
  );
}
