import type { Permission } from "../contract.ts";
import { useMay } from "../data/queries.ts";

export interface Place {
  readonly to: string;
  readonly text: string;
  readonly key: string;
  /** Shown only to operators with this permission. */
  readonly needs?: Permission;
  /** Other paths of its pages. */
  readonly also?: readonly string[];
}

interface Group {
  readonly title: string;
  readonly places: readonly Place[];
}

const GROUPS: readonly Group[] = [
  {
    title: "Hotels",
    places: [
      { to: "/", text: "Portfolio", key: "p", also: ["/property", "/history"] },
      { to: "/report", text: "Daily report", key: "d" },
      { to: "/subscriptions", text: "Reports and alerts", key: "e" },
    ],
  },
  {
    title: "Feeds",
    places: [
      { to: "/intake", text: "Ingestion", key: "i" },
      { to: "/requests", text: "Requests", key: "r" },
      { to: "/quarantine", text: "Quarantine", key: "q" },
    ],
  },
  {
    title: "Partners",
    places: [
      { to: "/clients", text: "Clients", key: "c", needs: "read-clients" },
      { to: "/webhooks", text: "Webhooks", key: "w", needs: "manage-webhooks" },
      { to: "/backfills", text: "Backfills", key: "b" },
      { to: "/certifications", text: "Certification", key: "f" },
    ],
  },
  {
    title: "Administration",
    places: [
      { to: "/operators", text: "Operators", key: "o", needs: "manage-operators" },
      { to: "/settings", text: "Settings", key: "s" },
      { to: "/audit", text: "Audit", key: "a", needs: "read-audit" },
    ],
  },
];

/** The pages that the operator may open. */
export function useGroups(): readonly Group[] {
  const may = useMay();
  return GROUPS.map(({ title, places }) => ({
    title,
    places: places.filter(({ needs }) => needs === undefined || may(needs)),
  })).filter(({ places }) => places.length > 0);
}

export function isWithin({ to, also = [] }: Place, path: string): boolean {
  return [to, ...also].some((begin) => isBelow(path, begin));
}

const isBelow = (path: string, begin: string) => path === begin || path.startsWith(`${begin}/`);

export const PROPERTY_TABS: readonly (readonly [path: string, text: string])[] = [
  ["/property", "Overview"],
  ["/property/report", "Daily report"],
  ["/property/on-the-books", "On the books"],
  ["/property/pace", "Pace"],
  ["/property/pickup", "Pickup"],
  ["/property/blocks", "Blocks"],
  ["/property/reconciliation", "Reconciliation"],
  ["/property/calendar", "Data health"],
];

/** The documentation of each page, longest paths first. */
const HELP: readonly (readonly [path: string, docs: string])[] = [
  ["/report", "insight#of-several-hotels"],
  ["/property/report", "insight#daily-report"],
  ["/property/on-the-books", "insight#on-the-books"],
  ["/property/pace", "insight#pace"],
  ["/property/pickup", "insight#pickup"],
  ["/property/blocks", "insight#blocks"],
  ["/property/reconciliation", "insight#reconciliation"],
  ["/property/calendar", "insight#feed-health"],
  ["/property", "insight#what-counts"],
  ["/history", "reading#history"],
  ["/subscriptions", "delivery#for-revenue-teams"],
  ["/intake", "guides/outcomes"],
  ["/requests", "reading#the-outcome-of-a-batch"],
  ["/quarantine", "operations#quarantined-records"],
  ["/clients", "authentication#clients"],
  ["/webhooks", "webhooks#for-operators"],
  ["/backfills", "backfill#for-operators"],
  ["/certifications", "certification#for-operators"],
  ["/operators", "operators#roles-and-grants"],
  ["/account", "operators#authenticator-codes"],
  ["/settings", "operations#property-settings"],
];

export function helpFor(path: string): string {
  const [, docs] = HELP.find(([begin]) => isBelow(path, begin)) ?? [];
  return `/docs/${docs ?? "console"}`;
}
