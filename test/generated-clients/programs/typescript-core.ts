// What each client for TypeScript does: pushes three records of each resource, reads them back, and pages through them.
import { deepStrictEqual } from "node:assert";
import { argv, env, exit } from "node:process";

export const { BASE_URL = "", CLIENT_ID = "", CLIENT_SECRET = "", PROPERTY = "" } = env;
const TIME = "2026-06-01T08:30:00.123456Z";
const HOTEL = { clientCode: "DEMO", propertyCode: PROPERTY };
const EVERY = [1, 2, 3];

const night = (number: number) => ({
  ...HOTEL,
  createDateTime: TIME,
  occupancyDate: `2027-06-0${number}`,
  roomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: 40, roomsSold: 31 }],
  ownField: "kept",
});

const reservation = (number: number) => ({
  ...HOTEL,
  lastModifiedDateTime: TIME,
  reservationId: `R-${number}`,
  status: "CONFIRMED",
  primarySharer: true,
  sharers: ["R-9"],
  roomStays: [{ arrivalDate: "2027-06-01", departureDate: "2027-06-03", roomTypeCode: "DLX" }],
});

const group = (number: number) => ({
  ...HOTEL,
  lastModifiedDateTime: TIME,
  groupCode: `G-${number}`,
  groupStatusCode: "DEFINITE",
  startDate: "2027-06-01",
  endDate: "2027-06-02",
  groupBlocks: [{ occupancyDate: "2027-06-01", roomTypeCode: "DLX", blocks: 20, singlePersonRate: "140.00" }],
});

export type Night = ReturnType<typeof night>;
export type Reservation = ReturnType<typeof reservation>;
export type Group = ReturnType<typeof group>;
export type Query = typeof HOTEL & { limit: number; cursor?: string };

interface Accepted {
  readonly requestId: string;
}

interface Status {
  readonly status: string;
  readonly counts: { readonly applied: number };
  readonly records: readonly {
    readonly outcome: string;
    readonly warnings: readonly { readonly code: string }[];
  }[];
}

interface Page {
  readonly items: readonly unknown[];
  readonly nextCursor: string | null;
}

/** The same calls by each client; the token is taken before. */
export interface Api {
  pushNights(records: Night[]): Promise<Accepted>;
  pushReservations(records: Reservation[]): Promise<Accepted>;
  pushGroups(records: Group[]): Promise<Accepted>;
  status(requestId: string): Promise<Status>;
  nights(query: Query): Promise<Page>;
  reservations(query: Query): Promise<Page>;
  groups(query: Query): Promise<Page>;
}

async function allOf(fetch: (query: Query) => Promise<Page>) {
  const records: unknown[] = [];
  let pages = 0;
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const page: Page = await fetch({ ...HOTEL, limit: 2, ...(cursor === undefined ? {} : { cursor }) });
    records.push(...page.items);
    pages += 1;
    cursor = page.nextCursor;
  }
  return { records, pages };
}

async function pushAndPage(open: () => Promise<Api>): Promise<void> {
  const api = await open();
  for (const { requestId } of [
    await api.pushNights(EVERY.map(night)),
    await api.pushReservations(EVERY.map(reservation)),
    await api.pushGroups(EVERY.map(group)),
  ]) {
    const { status, counts, records } = await api.status(requestId);
    deepStrictEqual([status, counts.applied], ["applied", 3]);
    for (const { outcome, warnings } of records) {
      console.log("outcome", outcome);
      for (const { code } of warnings) console.log("warning", code);
    }
  }
  console.log("pushed");
  const nights = await allOf((query) => api.nights(query));
  const reservations = await allOf((query) => api.reservations(query));
  const groups = await allOf((query) => api.groups(query));
  deepStrictEqual(nights.records, EVERY.map(night));
  deepStrictEqual(reservations.records, EVERY.map(reservation));
  deepStrictEqual(groups.records, EVERY.map(group));
  console.log("read back");
  deepStrictEqual([nights.pages, reservations.pages, groups.pages], [2, 2, 2]);
  console.log("paged");
}

export function run(open: () => Promise<Api>): void {
  pushAndPage(open).catch((error: unknown) => {
    console.error(`${argv[1]}:`, error);
    exit(1);
  });
}
