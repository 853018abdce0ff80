import { createContext, type ReactNode, useContext, useMemo, useState } from "react";
import type { PropertyCodes } from "../contract.ts";
import { readCodes, writeGrant, writeMany } from "../field/format.ts";
import { Button } from "./button.tsx";

interface Selection {
  readonly chosen: ReadonlySet<string>;
  readonly put: (name: string, isChosen: boolean) => void;
}

/** Each box reads it, so that a click renders no row. */
const SelectionContext = createContext<Selection>({ chosen: new Set(), put: () => undefined });

interface SelectableProps {
  /** What can be done with the selected hotels. */
  readonly actions: (hotels: readonly PropertyCodes[]) => ReactNode;
  readonly children: ReactNode;
}

/** Hotels can be selected with `HotelBox`, also on several pages; a bar at the bottom of the window has what can be done with them. */
export function Selectable({ actions, children }: SelectableProps) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const selection = useMemo(
    () => ({
      chosen,
      put: (name: string, isChosen: boolean) =>
        setChosen((before) =>
          isChosen ? new Set([...before, name]) : new Set([...before].filter((each) => each !== name)),
        ),
    }),
    [chosen],
  );
  const hotels = [...chosen].flatMap((name) => readCodes(name) ?? []);
  return (
    <SelectionContext value={selection}>
      <section className="selection" aria-label="Selected hotels" hidden={hotels.length === 0}>
        <span role="status">{hotels.length > 0 && `${writeMany(hotels.length, "hotel")} selected`}</span>
        {hotels.length > 0 && (
          <>
            {actions(hotels)}
            <Button kind="quiet" onClick={() => setChosen(new Set())}>
              Clear
            </Button>
          </>
        )}
      </section>
      {children}
    </SelectionContext>
  );
}

/** Selects a hotel. */
export function HotelBox({ of, name }: { of: PropertyCodes; name: string }) {
  const { chosen, put } = useContext(SelectionContext);
  const codes = writeGrant(of);
  return (
    <input
      type="checkbox"
      className="pick"
      aria-label={`Select ${name}`}
      checked={chosen.has(codes)}
      onChange={({ target }) => put(codes, target.checked)}
    />
  );
}
