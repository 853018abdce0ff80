import type { SessionAnswer } from "../contract.ts";
import { useSession } from "./queries.ts";
import { readStored, store } from "./stored.ts";

/** An opened object. */
export interface Visit {
  readonly to: string;
  readonly text: string;
  readonly note: string;
}

const STORED_AS = "bellhop.recent";
const KEPT = 12;

/** Identifies the operator, role and grants, so that others do not see these visits. */
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

/** The objects that this operator opened last in this browser, newest first. */
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
