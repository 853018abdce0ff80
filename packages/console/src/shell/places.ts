/** A place in the navigation. */
export interface Place {
  readonly to: string;
  readonly text: string;
  /** After `g`. */
  readonly key: string;
  /** Beginnings of the paths that belong to it. */
  readonly paths: readonly string[];
}

export const PLACES: readonly { readonly title: string; readonly places: readonly Place[] }[] = [
  {
    title: "What comes in",
    places: [
      { to: "/", text: "Live intake", key: "i", paths: [] },
      { to: "/requests", text: "Requests", key: "r", paths: ["/requests"] },
      { to: "/quarantine", text: "Quarantine", key: "q", paths: ["/quarantine"] },
      { to: "/backfills", text: "Backfills", key: "b", paths: ["/backfills"] },
    ],
  },
  {
    title: "Hotels",
    places: [
      { to: "/properties", text: "Properties", key: "p", paths: ["/properties", "/property", "/history"] },
      { to: "/settings", text: "Settings", key: "s", paths: ["/settings"] },
    ],
  },
  {
    title: "Partners",
    places: [
      { to: "/clients", text: "Clients", key: "c", paths: ["/clients"] },
      { to: "/webhooks", text: "Webhooks", key: "w", paths: ["/webhooks"] },
      { to: "/audit", text: "Audit", key: "a", paths: ["/audit"] },
    ],
  },
];

/** Whether a path belongs to a place. */
export function isWithin({ to, paths }: Place, path: string): boolean {
  return path === to || paths.some((beginning) => path === beginning || path.startsWith(`${beginning}/`));
}
