import {
  writeCount,
  writeDate,
  writeDay,
  writeMany,
  writeMoney,
  writeShort,
  writeSigned,
  writeWeekday,
} from "../../field/format.ts";
import { isWeekend } from "../../field/stay-date.ts";
import { Empty } from "../../parts/states.tsx";
import { Scroll } from "../../parts/table.tsx";
import type { Measure } from "./measure.tsx";
import { amountOf, type PickupDay, sumOfAll, sumOfDay, sumOfNight } from "./pickup-days.ts";

interface HeatMapProps {
  readonly days: readonly PickupDay[];
  readonly nights: readonly string[];
  readonly measure: Measure;
}

const isNothing = (amount: string): boolean => Number(amount) === 0;

/** `+3`, or `+412.50` */
const writeExactly = (amount: string, measure: Measure): string =>
  measure.of === "rooms" ? writeSigned(Number(amount)) : writeMoney(amount, true);

/** What came and went by day (down) and night (across): the darker, the more. */
export function HeatMap({ days, nights, measure }: HeatMapProps) {
  const sizes = days.flatMap(({ amounts }) =>
    [...amounts.values()].map((amount) => Math.abs(Number(amount))),
  );
  const largest = Math.max(...sizes, 0);
  if (largest === 0) return <NothingMoved measure={measure} />;
  const total = sumOfAll(days);
  return (
    <>
      <Scroll label="Pickup by day and night">
        <table className="heat" data-of={measure.of}>
          <caption className="unseen">
            {measure.of === "rooms" ? "Rooms" : `Room revenue in ${measure.currency}`} picked up by day and
            night, {writeExactly(total, measure)} in all. Empty cells: nothing came or went.
          </caption>
          <NightHeads nights={nights} />
          <tbody>
            {days.map((each) => (
              <tr key={each.day}>
                <th scope="row">
                  {writeWeekday(each.day)} {writeDay(each.day)}
                </th>
                {nights.map((night) => {
                  const amount = amountOf(each, night);
                  return (
                    <Cell key={night} amount={amount} measure={measure} heat={heatOf(amount, largest)} />
                  );
                })}
                <td className="sum">{writeExactly(sumOfDay(each), measure)}</td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">All</th>
              {nights.map((night) => (
                <Cell key={night} amount={sumOfNight(days, night)} measure={measure} />
              ))}
              <td className="sum">{writeExactly(total, measure)}</td>
            </tr>
          </tfoot>
        </table>
      </Scroll>
      <Legend total={total} measure={measure} />
    </>
  );
}

function NothingMoved({ measure }: { readonly measure: Measure }) {
  const what = measure.of === "rooms" ? "Nothing" : `No revenue in ${measure.currency}`;
  return (
    <Empty title={`${what} came or went in these days`}>
      For these nights. Another range of nights or days may show some.
    </Empty>
  );
}

function NightHeads({ nights }: { readonly nights: readonly string[] }) {
  return (
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
  );
}

interface CellProps {
  readonly amount: string;
  readonly measure: Measure;
  /** Absent: it is a sum. */
  readonly heat?: number;
}

/** Money is shortened to be seen, and exact to a pointer that rests on it and to who does not see it. */
function Cell({ amount, measure, heat }: CellProps) {
  const exact = isNothing(amount) ? "" : writeExactly(amount, measure);
  const className = heat === undefined ? "sum" : undefined;
  if (measure.of === "rooms" || exact === "")
    return (
      <td className={className} data-heat={heat}>
        {exact}
      </td>
    );
  return (
    <td className={className} data-heat={heat} title={`${exact} ${measure.currency}`}>
      <span aria-hidden="true">{writeShort(amount)}</span>
      <span className="unseen">{exact}</span>
    </td>
  );
}

/** Five steps up, three down; the smallest movement is always seen. */
function heatOf(amount: string, largest: number): number {
  const value = Number(amount);
  if (value === 0) return 0;
  const share = Math.abs(value) / largest;
  return value > 0 ? Math.max(1, Math.ceil(share * 5)) : -Math.max(1, Math.ceil(share * 3));
}

function Legend({ total, measure }: { readonly total: string; readonly measure: Measure }) {
  const isRooms = measure.of === "rooms";
  return (
    <p className="legend">
      <span className="steps">
        {[-3, -2, -1].map((step) => (
          <i key={step} data-heat={step} />
        ))}
        {isRooms ? "given back" : "less"}
      </span>
      <span className="steps">
        {[1, 2, 3, 4, 5].map((step) => (
          <i key={step} data-heat={step} />
        ))}
        {isRooms ? "booked" : "more"}
      </span>
      <span>
        {isRooms ? roomsInAll(Number(total)) : `${writeMoney(total, true)} ${measure.currency} in all`}
      </span>
      {isRooms ? null : <span>Cells are shortened; the table below is exact.</span>}
    </p>
  );
}

function roomsInAll(rooms: number): string {
  return rooms < 0 ? `${writeCount(rooms)} rooms in all` : `+${writeMany(rooms, "room")} in all`;
}
