import { useState } from "react";
import type { DailyReportAnswer, PropertyCodes, SettingsAnswer } from "../../contract.ts";
import { type Asked, addressOf, useAnswers } from "../../data/queries.ts";
import { readCodes, writeGrant } from "../../field/format.ts";
import type { Year } from "../../field/side-by-side.ts";
import { isYear, YEAR_OPTIONS } from "../../parts/beside.tsx";
import { SelectField } from "../../parts/field.tsx";
import { useChip } from "../../parts/filters.tsx";
import { useFilters } from "../../routing/filters.ts";
import { PropertyFinder } from "../../shell/search.tsx";

/** What the report of a hotel is beside: a year, or another hotel. */
export interface BesideChoice {
  readonly year?: Year;
  readonly codes?: PropertyCodes;
}

/** The choice of the address; a hotel is not beside itself. */
export function useBesideChoice({ clientCode, propertyCode }: PropertyCodes): BesideChoice {
  const given = useFilters().filters.get("beside") ?? "";
  if (isYear(given)) return { year: given };
  const codes = readCodes(given);
  const isOwn = codes?.clientCode === clientCode && codes.propertyCode === propertyCode;
  return codes === undefined || isOwn ? {} : { codes };
}

const ANOTHER = "another";

interface BesideFilterProps {
  readonly codes: PropertyCodes;
  readonly choice: BesideChoice;
  /** The name of the other hotel. */
  readonly name: string;
}

export function BesideFilter({ codes, choice, name }: BesideFilterProps) {
  const { change } = useFilters();
  const [isChoosing, setChoosing] = useState(false);
  const put = (beside: string) =>
    change({ beside, sort: undefined, order: undefined, only: undefined, figures: undefined });
  const value = choice.year ?? (choice.codes === undefined ? "" : writeGrant(choice.codes));
  const text = YEAR_OPTIONS.find(([year]) => year === value)?.[1] ?? name;
  useChip("Compare with", value === "" ? undefined : text, () => put(""));
  return (
    <>
      <SelectField
        label="Compare with"
        value={value}
        options={[
          ["", "nothing"],
          ...YEAR_OPTIONS,
          ...(choice.codes === undefined ? [] : [[value, name] as const]),
          [ANOTHER, "another hotel …"],
        ]}
        onChange={(next) => (next === ANOTHER ? setChoosing(true) : put(next))}
      />
      {isChoosing && (
        <PropertyFinder
          label="Compare with another hotel"
          note="The same nights of both hotels"
          here={codes}
          onChoose={(other) => put(writeGrant(other))}
          onClose={() => setChoosing(false)}
        />
      )}
    </>
  );
}

/** The other hotel's name, or its codes. */
export function useNameOf(codes: PropertyCodes | undefined): string {
  const { clientCode = "", propertyCode = "" } = codes ?? {};
  const address = addressOf("settings", { clientCode, propertyCode });
  const { data, isOld } = useAnswers<SettingsAnswer>(codes === undefined ? [] : [address]);
  const name = isOld ? undefined : data?.[0]?.settings.find((each) => each.name === "name")?.value;
  return name ?? writeGrant({ clientCode, propertyCode });
}

/** The report of the hotel, with that of the other one. */
export interface ReportAnswer extends DailyReportAnswer {
  readonly other?: DailyReportAnswer | undefined;
}

/** Both reports, once both are there. `addressOfOwn`: the question, which is asked again of the other hotel. */
export function useBoth(
  own: Asked<DailyReportAnswer>,
  addressOfOwn: string,
  other: PropertyCodes | undefined,
): Asked<ReportAnswer> {
  const asked = useAnswers<DailyReportAnswer>(other === undefined ? [] : [askedOf(addressOfOwn, other)]);
  if (other === undefined) return own;
  return {
    data:
      own.data === undefined || asked.data?.[0] === undefined
        ? undefined
        : { ...own.data, other: asked.data[0] },
    error: own.error ?? asked.error,
    dataUpdatedAt: Math.min(own.dataUpdatedAt, asked.dataUpdatedAt),
    isOld: own.isOld || asked.isOld,
    refetch: () => [own.refetch(), asked.refetch()],
  };
}

function askedOf(address: string, { clientCode, propertyCode }: PropertyCodes): string {
  const [path = "", search = ""] = address.split("?");
  return addressOf(path, { ...Object.fromEntries(new URLSearchParams(search)), clientCode, propertyCode });
}
