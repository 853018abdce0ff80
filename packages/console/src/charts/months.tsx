import type { ReactNode } from "react";
import { weekdayOf, writeMonth } from "../field/format.ts";

const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] as const;

interface MonthsProps<Night> {
  readonly nights: readonly Night[];
  readonly dateOf: (night: Night) => string;
  readonly cell: (night: Night) => ReactNode;
  readonly note?: (nights: readonly Night[]) => ReactNode;
}

/** Nights in one calendar per month. */
export function Months<Night>({ nights, dateOf, cell, note }: MonthsProps<Night>) {
  const months = [...Map.groupBy(nights, (night) => dateOf(night).slice(0, 7))];
  return (
    <div className="months">
      {months.map(([month, ofMonth]) => (
        <section key={month} className="month">
          <h3>
            {writeMonth(`${month}-01`)}
            {note?.(ofMonth)}
          </h3>
          <table>
            <caption className="unseen">Nights of {writeMonth(`${month}-01`)}</caption>
            <thead>
              <tr>
                {WEEKDAYS.map((weekday) => (
                  <th key={weekday} scope="col" abbr={weekday}>
                    {weekday.slice(0, 2)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {weeksOf(ofMonth, dateOf).map((week) => (
                <tr key={week.map((night) => (night === undefined ? "" : dateOf(night))).join()}>
                  {WEEKDAYS.map((weekday, place) => {
                    const night = week[place];
                    return <td key={weekday}>{night === undefined ? null : cell(night)}</td>;
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      ))}
    </div>
  );
}

function weeksOf<Night>(nights: readonly Night[], dateOf: (night: Night) => string): (Night | undefined)[][] {
  const weeks: (Night | undefined)[][] = [];
  for (const night of nights) {
    const weekday = weekdayOf(dateOf(night));
    if (weekday === 0 || weeks.length === 0) weeks.push(Array.from({ length: 7 }, () => undefined));
    const week = weeks.at(-1);
    if (week !== undefined) week[weekday] = night;
  }
  return weeks;
}
