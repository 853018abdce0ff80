import type { SessionAnswer } from "../contract.ts";
import { useSession } from "./queries.ts";
import { readStored, store } from "./stored.ts";

/** A thing that was opened. */
export interface Visit {
  readonly to: string;
  readonly text: string;
  readonly note: string;
}

const STORED_AS = "bellhop.recent";
const KEPT = 12;

/** Whose visits they are, and what of: another operator, role or grant sees none of them. */
function sightOf(operator: SessionAnswer["operator"] | undefined): string {
  return JSON.stringify([operator?.name, operator?.role, operator?.grants]);
}

function readVisits(sight: string): readonly Visit[] {
  try {
    const stored = JSON.parse(readStored(STORED_AS) ?? "{}") as {
      readonly sight?: string;
      readonly visits?: readonly Visit[];
    };
    return stored.sight === sight && Array.isArray(stored.visits) ? stored.visits : [];
  } catch {
    return [];
  }
}

/** What this operator opened last in this browser, the newest first. */
export function useRecent(): {
  readonly visits: () => readonly Visit[];
  readonly note: (visit: Visit) => void;
} {
  const sight = sightOf(useSession().data?.operator);
  return {
    visits: () => readVisits(sight),
    note: (visit) => {
      const others = readVisits(sight).filter(({ to }) => to !== visit.to);
      store(STORED_AS, JSON.stringify({ sight, visits: [visit, ...others].slice(0, KEPT) }));
    },
  };
}
