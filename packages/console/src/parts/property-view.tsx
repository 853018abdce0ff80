import { createContext, type ReactNode, useContext, useState } from "react";
import type { PropertyCodes, SettingName, SettingsAnswer } from "../contract.ts";
import { addressOf, useAnswer } from "../data/queries.ts";
import { readStored, store } from "../data/stored.ts";
import { isOneOf, today, UTC } from "../field/format.ts";

/** Display settings of a property's pages. Other pages show UTC. */
interface PropertyView {
  /** The settings have loaded. */
  readonly isKnown: boolean;
  /** Null: not set, or still loading. */
  readonly name: string | null;
  readonly city: string | null;
  /** For times; stay dates have none. */
  readonly timeZone: string;
  /** The property's own zone. */
  readonly ownTimeZone: string;
  readonly businessDayEnd: string;
  /** Its current business day. */
  readonly today: string;
  readonly choose: (clock: string) => void;
  readonly isWeekend: (date: string) => boolean;
}

const CLOCK_STORED_AS = "bellhop.clock";
const WEEKEND_STANDARD = "Fri,Sat";
const ELSEWHERE: PropertyView = {
  isKnown: false,
  name: null,
  city: null,
  timeZone: UTC,
  ownTimeZone: UTC,
  businessDayEnd: "00:00",
  today: today(),
  choose: () => undefined,
  isWeekend: (date) => isOneOf(WEEKEND_STANDARD, date),
};

const ViewContext = createContext(ELSEWHERE);

export const usePropertyView = () => useContext(ViewContext);

/** Provides the property's name, city, weekend, time zone and business day from its settings. */
export function PropertyViewProvider({ codes, children }: { codes: PropertyCodes; children: ReactNode }) {
  const { clientCode, propertyCode } = codes;
  const { data, error } = useAnswer<SettingsAnswer>(addressOf("settings", { clientCode, propertyCode }));
  const [clock, setClock] = useState(readStored(CLOCK_STORED_AS));
  const settingOf = (name: SettingName) => data?.settings.find((each) => each.name === name)?.value ?? null;
  const ownTimeZone = settingOf("timeZone") ?? UTC;
  const weekend = settingOf("weekend") ?? WEEKEND_STANDARD;
  const view: PropertyView = {
    isKnown: data !== undefined,
    name: settingOf("name"),
    city: settingOf("city"),
    ownTimeZone,
    businessDayEnd: settingOf("businessDayEnd") ?? "00:00",
    today: data?.businessDay ?? today(),
    timeZone: clock === "property" ? ownTimeZone : UTC,
    choose: (next) => {
      setClock(next);
      store(CLOCK_STORED_AS, next);
    },
    isWeekend: (date) => isOneOf(weekend, date),
  };
  // Ranges begin with the business day.
  if (data === undefined && error === null) return <div className="waiting" />;
  return <ViewContext value={view}>{children}</ViewContext>;
}

/** Selects the time zone of the page, if the property has its own. */
export function ClockChoice() {
  const { timeZone, ownTimeZone, choose } = usePropertyView();
  if (ownTimeZone === UTC) return <span className="nowrap">Times in UTC</span>;
  return (
    <label className="clock">
      Times in{" "}
      <select value={timeZone === UTC ? "utc" : "property"} onChange={(event) => choose(event.target.value)}>
        <option value="utc">UTC</option>
        <option value="property">{ownTimeZone}</option>
      </select>
    </label>
  );
}
