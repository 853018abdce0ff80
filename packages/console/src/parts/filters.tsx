import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useId,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { useFilters } from "../routing/filters.ts";
import { Button, Icon } from "./button.tsx";

/** A filter with a non-default value. */
interface Chip {
  readonly label: string;
  readonly text: string;
  readonly clear: () => void;
}

const ChipsContext = createContext<(id: string, chip: Chip | undefined) => void>(() => undefined);

/** Lists a filter among the active ones; `text` is undefined for the default. */
export function useChip(label: string, text: string | undefined, clear: () => void): void {
  const put = useContext(ChipsContext);
  const id = useId();
  const current = useRef(clear);
  current.current = clear;
  useEffect(() => {
    if (text === undefined) return;
    put(id, { label, text, clear: () => current.current() });
    return () => put(id, undefined);
  }, [put, id, label, text]);
}

/** The width of a phone, as in the styles. */
const phone = window.matchMedia("(max-width: 40rem)");

function usePhone(): boolean {
  return useSyncExternalStore(
    (onChange) => {
      phone.addEventListener("change", onChange);
      return () => phone.removeEventListener("change", onChange);
    },
    () => phone.matches,
  );
}

/** The filters of a page: a row of fields. On a phone a button opens them, with the active ones beside it. */
export function Filters({ children }: { children: ReactNode }) {
  const [chips, setChips] = useState<ReadonlyMap<string, Chip>>(new Map());
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  const put = useCallback((key: string, chip: Chip | undefined) => {
    setChips((before) => {
      const next = new Map(before);
      if (chip === undefined) next.delete(key);
      else next.set(key, chip);
      return next;
    });
  }, []);
  const isPhone = usePhone();
  const count = chips.size;
  return (
    <search className="filter-bar">
      {isPhone && (
        <div className="filter-line">
          <button
            ref={button}
            type="button"
            className="button"
            aria-expanded={open}
            aria-controls={id}
            onClick={() => setOpen(!open)}
          >
            <Icon name="filter" />
            {count === 0 ? "Filters" : `Filters (${count})`}
          </button>
          {[...chips].map(([key, { label, text, clear }]) => (
            <button
              key={key}
              type="button"
              className="chip"
              aria-label={`Remove ${label}: ${text}`}
              onClick={() => {
                button.current?.focus();
                clear();
              }}
            >
              <span>
                {label}: <strong>{text}</strong>
              </span>
              <Icon name="close" size={12} />
            </button>
          ))}
        </div>
      )}
      <div className="filters" id={id} data-open={open || undefined}>
        <ChipsContext value={put}>{children}</ChipsContext>
      </div>
    </search>
  );
}

/** For a list whose address has only filters. */
export function ClearFilters() {
  const { filters, change } = useFilters();
  if (filters.size === 0) return null;
  const none = Object.fromEntries([...filters.keys()].map((name) => [name, undefined]));
  return <Button onClick={() => change(none)}>Clear filters</Button>;
}
