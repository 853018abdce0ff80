import type { PickupAnswer } from "../../contract.ts";
import { addressOf } from "../../data/call.ts";
import { useAnswers } from "../../data/use-answers.ts";
import { writeCount, writeMany, writeSigned } from "../../field/amounts.ts";
import {
  addDays,
  datesBetween,
  isAskedDate,
  isStayDate,
  isWeekend,
  today,
  writeDate,
  writeDay,
  writeWeekday,
} from "../../field/stay-date.ts";
import { ExportButton } from "../../parts/export-button.tsx";
import { Choice, SelectField } from "../../parts/field.tsx";
import { Answered, Empty } from "../../parts/states.tsx";
import { Scroll } from "../../parts/table.tsx";
import { TextFilter } from "../../parts/text-filter.tsx";
import { useFilters } from "../../routing/address.ts";
import { InsightFilters, useRange } from "./insight-filters.tsx";
import { PropertyPage, useCodes } from "./property-page.tsx";

const NIGHTS_SHOWN = 28;
const DAY_COUNTS = [
  ["7", "7 days"],
  ["14", "14 days"],
  ["28", "28 days"],
] as const;

/** What a day brought (UTC midnight to midnight), by night. */
interface PickupDay {
  readonly day: string;
  readonly rooms: ReadonlyMap<string, number>;
}

/** Rooms that came and went, by the day on which they did and the night they are for. */
export function PickupPage() {
  const range = useRange({ from: today(), to: addDays(today(), NIGHTS_SHOWN - 1) });
  const { filters, change } = useFilters();
  const codes = useCodes();
  const told = filters.get("until") ?? "";
  const until = isStayDate(told) ? told : today();
  const count = DAY_COUNTS.find(([days]) => days === filters.get("days"))?.[0] ?? "14";
  const days = datesBetween(addDays(until, 1 - Number(count)), until).toReversed();
  const clock = filters.get("clock") === "receipt" ? "receipt" : undefined;
  const addresses =
    codes === undefined
      ? null
      : days.map((day) =>
          addressOf("insight/pickup", {
            ...codes,
            ...range,
            clock,
            since: `${addDays(day, -1)}T23:59:59.999999Z`,
            asOf: `${day}T23:59:59.999999Z`,
            limit: 1000,
          }),
        );
  const asked = useAnswers<PickupAnswer>(addresses);
  const pickup = (answers: readonly PickupAnswer[]) =>
    days.map((day, place) => pickupOf(day, answers[place]));
  const nights = datesBetween(range.from, range.to);
  return (
    <PropertyPage
      title="Pickup"
      lead="Rooms that were booked less those that were given back, by the day on which it happened (down) and the night (across)."
      actions={
        <ExportButton name={`pickup-${until}`} rows={() => toRows(pickup(asked.answer ?? []), nights)} />
      }
    >
      {() => (
        <>
          <InsightFilters range={range}>
            <TextFilter
              label="Until day"
              type="date"
              value={until}
              check={(text) => (isAskedDate(text) ? undefined : "A date")}
              onChange={(next) => change({ until: next }, "replace")}
            />
            <SelectField
              label="Days"
              value={count}
              options={DAY_COUNTS}
              onChange={(next) => change({ days: next })}
            />
            <Choice
              label="Clock"
              value={clock ?? "source"}
              options={[
                ["source", "Sender's"],
                ["receipt", "Receipt"],
              ]}
              onChange={(next) => change({ clock: next === "receipt" ? "receipt" : undefined })}
            />
          </InsightFilters>
          <Answered asked={asked} lines={14}>
            {(answers) => <HeatMap days={pickup(answers)} nights={nights} />}
          </Answered>
        </>
      )}
    </PropertyPage>
  );
}

function pickupOf(day: string, answer: PickupAnswer | undefined): PickupDay {
  const rooms = new Map<string, number>();
  for (const item of answer?.items ?? [])
    rooms.set(item.stayDate, (rooms.get(item.stayDate) ?? 0) + item.rooms);
  return { day, rooms };
}

const sumOf = ({ rooms }: PickupDay): number => [...rooms.values()].reduce((sum, value) => sum + value, 0);

/** What all days together brought of a night. */
function sumOfNight(days: readonly PickupDay[], night: string): number {
  return days.reduce((sum, { rooms }) => sum + (rooms.get(night) ?? 0), 0);
}

function HeatMap({
  days,
  nights,
}: {
  readonly days: readonly PickupDay[];
  readonly nights: readonly string[];
}) {
  const largest = Math.max(1, ...days.flatMap(({ rooms }) => [...rooms.values()].map(Math.abs)));
  if (days.every(({ rooms }) => [...rooms.values()].every((value) => value === 0)))
    return (
      <Empty title="Nothing came or went in these days">
        For these nights. Another range of nights or days may show some.
      </Empty>
    );
  const total = days.reduce((sum, day) => sum + sumOf(day), 0);
  return (
    <>
      <Scroll label="Pickup by day and night">
        <table className="heat">
          <caption className="unseen">
            Rooms picked up by day and night, {writeSigned(total)} in all. Empty cells: nothing came or went.
          </caption>
          <thead>
            <tr>
              <td />
              {nights.map((night) => (
                <th
                  key={night}
                  scope="col"
                  className={isWeekend(night) ? "weekend" : undefined}
                  title={writeDate(night)}
                >
                  {writeWeekday(night).slice(0, 2)}
                  <br />
                  {Number(night.slice(8))}
                  {night.endsWith("-01") || night === nights[0] ? <br /> : null}
                  {night.endsWith("-01") || night === nights[0] ? writeDay(night).split(" ")[1] : null}
                </th>
              ))}
              <th scope="col" className="sum">
                All
              </th>
            </tr>
          </thead>
          <tbody>
            {days.map((each) => (
              <tr key={each.day}>
                <th scope="row">
                  {writeWeekday(each.day)} {writeDay(each.day)}
                </th>
                {nights.map((night) => (
                  <HeatCell key={night} value={each.rooms.get(night) ?? 0} largest={largest} />
                ))}
                <td className="sum">{writeSigned(sumOf(each))}</td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">All</th>
              {nights.map((night) => (
                <td key={night} className="sum">
                  {writeSum(sumOfNight(days, night))}
                </td>
              ))}
              <td className="sum">{writeSigned(total)}</td>
            </tr>
          </tfoot>
        </table>
      </Scroll>
      <Legend total={total} />
    </>
  );
}

function HeatCell({ value, largest }: { readonly value: number; readonly largest: number }) {
  return <td data-heat={heatOf(value, largest)}>{writeSum(value)}</td>;
}

const writeSum = (value: number): string => (value === 0 ? "" : writeSigned(value));

/** Five steps up, three down; the smallest movement is always seen. */
function heatOf(value: number, largest: number): number {
  if (value === 0) return 0;
  const share = Math.abs(value) / largest;
  return value > 0 ? Math.max(1, Math.ceil(share * 5)) : -Math.max(1, Math.ceil(share * 3));
}

function Legend({ total }: { readonly total: number }) {
  return (
    <p className="legend">
      <span className="steps">
        {[-3, -2, -1].map((step) => (
          <i key={step} data-heat={step} />
        ))}
        given back
      </span>
      <span className="steps">
        {[1, 2, 3, 4, 5].map((step) => (
          <i key={step} data-heat={step} />
        ))}
        booked
      </span>
      <span>{total < 0 ? `${writeCount(total)} rooms in all` : `+${writeMany(total, "room")} in all`}</span>
    </p>
  );
}

function toRows(days: readonly PickupDay[], nights: readonly string[]): (string | number)[][] {
  return [
    ["day", ...nights, "all"],
    ...days.map((each) => [each.day, ...nights.map((night) => each.rooms.get(night) ?? 0), sumOf(each)]),
    [
      "all",
      ...nights.map((night) => sumOfNight(days, night)),
      days.reduce((sum, day) => sum + sumOf(day), 0),
    ],
  ];
}
