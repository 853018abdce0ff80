// With the typescript-fetch client: pushes three records of each resource, reads them back, and pages through them.
import { deepStrictEqual } from "node:assert";
import { argv, env, exit } from "node:process";
import {
  Configuration,
  type Group,
  type Inventory,
  IssueTokenGrantTypeEnum,
  PushApi,
  RecordsApi,
  RequestsApi,
  type Reservation,
  TokensApi,
} from "./client";

const { BASE_URL: basePath = "", CLIENT_ID = "", CLIENT_SECRET = "", PROPERTY = "" } = env;
const TIME = "2026-06-01T08:30:00.123456Z";
const HOTEL = { clientCode: "DEMO", propertyCode: PROPERTY };
const EVERY = [1, 2, 3];
const day = (number: number) => new Date(`2027-06-0${number}T00:00:00Z`);

const night = (number: number): Inventory => ({
  ...HOTEL,
  createDateTime: TIME,
  occupancyDate: day(number),
  roomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: 40, roomsSold: 31 }],
  ownField: "kept",
});

const reservation = (number: number): Reservation => ({
  ...HOTEL,
  lastModifiedDateTime: TIME,
  reservationId: `R-${number}`,
  status: "CONFIRMED",
  primarySharer: true,
  sharers: ["R-9"],
  roomStays: [{ arrivalDate: day(1), departureDate: day(3), roomTypeCode: "DLX" }],
});

const group = (number: number): Group => ({
  ...HOTEL,
  lastModifiedDateTime: TIME,
  groupCode: `G-${number}`,
  groupStatusCode: "DEFINITE",
  startDate: day(1),
  endDate: day(2),
  groupBlocks: [{ occupancyDate: day(1), roomTypeCode: "DLX", blocks: 20, singlePersonRate: "140.00" }],
});

interface Page<Item> {
  readonly items: Item[];
  readonly nextCursor: string | null;
}

/** The records of every page, and how many pages there were. Fields that were left out are undefined: JSON leaves them out again. */
async function allOf<Item>(
  fetch: (query: typeof HOTEL & { limit: number; cursor?: string }) => Promise<Page<Item>>,
): Promise<{ records: unknown; pages: number }> {
  const records: Item[] = [];
  let pages = 0;
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const page = await fetch({ ...HOTEL, limit: 2, ...(cursor === undefined ? {} : { cursor }) });
    records.push(...page.items);
    pages += 1;
    cursor = page.nextCursor;
  }
  return { records: plain(records), pages };
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

async function main() {
  const { accessToken } = await new TokensApi(new Configuration({ basePath })).issueToken({
    grantType: IssueTokenGrantTypeEnum.ClientCredentials,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
  });
  // This client sends the token as it is given.
  const configuration = new Configuration({ basePath, accessToken: `Bearer ${accessToken}` });
  const push = new PushApi(configuration);
  const requests = new RequestsApi(configuration);
  const lists = new RecordsApi(configuration);
  for (const { requestId } of [
    await push.pushInventories({ inventory: EVERY.map(night) }),
    await push.pushReservations({ reservation: EVERY.map(reservation) }),
    await push.pushGroups({ group: EVERY.map(group) }),
  ]) {
    const { status, counts, records } = await requests.getRequest({ requestId, prefer: "wait=10" });
    deepStrictEqual([status, counts.applied], ["applied", 3]);
    for (const { outcome, warnings } of records) {
      console.log("outcome", outcome);
      for (const { code } of warnings) console.log("warning", code);
    }
  }
  console.log("pushed");

  const nights = await allOf((query) => lists.listInventories(query));
  const reservations = await allOf((query) => lists.listReservations(query));
  const groups = await allOf((query) => lists.listGroups(query));
  deepStrictEqual(nights.records, plain(EVERY.map(night)));
  deepStrictEqual(reservations.records, plain(EVERY.map(reservation)));
  deepStrictEqual(groups.records, plain(EVERY.map(group)));
  console.log("read back");
  deepStrictEqual([nights.pages, reservations.pages, groups.pages], [2, 2, 2]);
  console.log("paged");
}

main().catch((error: unknown) => {
  console.error(`${argv[1]}:`, error);
  exit(1);
});
