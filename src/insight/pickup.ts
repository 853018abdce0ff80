import type pg from "pg";
import { date, instant, type ValuesOf, whole } from "../platform/http/parameters.ts";
import { invalidParameter } from "../platform/http/read-parameters.ts";
import { type BusinessDay, businessDayOf, lastOfBusinessDay } from "../settings/business-day.ts";
import { type BookedPlace, bookedPlaces, rowsFor } from "./booked-places.ts";
import { instantOf, sinceOf } from "./days-of-answer.ts";
import { amountIn, plus } from "./exact-amount.ts";
import {
  count,
  currency,
  decimalOrNull,
  GROUPING_FIELDS,
  type ItemBy,
  orNull,
  stayDate,
  time,
  WITHOUT_NIGHT_FIELDS,
} from "./fields.ts";
import { type Asked, insight } from "./insight.ts";
import { withoutNightOf } from "./on-the-books.ts";
import type { BooksCause } from "./packed-books.ts";
import { afterPlace, BOOKS_PAGES, BOOKS_POSITION, type BooksPlace, pageOfNights } from "./paging.ts";
import { STAY_PARAMETERS } from "./parameters.ts";
import { boundOf, GROUPINGS, type NightWindow, type StayQuestion } from "./question.ts";
import { composeClocks, readPrepared, readUnnamed, whileSumming } from "./statements.ts";

const readPickup = composeClocks(new URL("./sql/read-pickup.sql", import.meta.url), {
  moment: "night, is_after",
});
const readShareLinks = composeClocks(new URL("./sql/read-share-links.sql", import.meta.url));

const FIELDS = {
  stayDate,
  ...GROUPING_FIELDS,
  rooms: count("Net pickup in rooms: `booked` minus `cancelled`.", 2),
  booked: count("Rooms added by reservations between the two instants.", 3),
  cancelled: count("Rooms removed by reservations between the two instants.", 1),
  roomRevenue: decimalOrNull("Pickup in net room revenue. Null: no change reports any.", "355.00"),
  grossRoomRevenue: decimalOrNull("The same, gross.", "390.50"),
  adults: count("Pickup in adults.", 4),
  children: count("Pickup in children.", -1),
  currency,
  ...WITHOUT_NIGHT_FIELDS,
};

const WINDOW_FIELDS = {
  since: time("The instant after which changes count.", "2026-06-14T00:59:59.999999Z"),
  until: orNull(
    time(
      "The last instant of which changes count; null: everything that has been applied.",
      "2026-06-15T12:00:00.000000Z",
    ),
  ),
};

/** At most three years of business days. */
const DAYS_MAX = 1_100;

const PARAMETERS = {
  ...STAY_PARAMETERS,
  since: instant(
    "The instant after which changes count, by the same clock; exclusive, so that periods do not overlap. Not with `day`; `days` is ignored.",
    "2026-06-08T12:00:00Z",
  ),
  day: date(
    "A business day of the property, instead of `asOf` as the end: changes up to its end count.",
    "2026-06-14",
  ),
  days: whole(
    "The number of business days of the property whose changes count, up to `day` or to that of `asOf`, inclusive. 1: since the end of the business day before.",
    1,
    DAYS_MAX,
    1,
  ),
};
type PickupParameters = ValuesOf<typeof PARAMETERS>;

function checkPeriod({ since, asOf, day }: PickupParameters): void {
  if (since !== undefined && asOf !== undefined && since > asOf)
    throw invalidParameter("since must not be after asOf.");
  if (day !== undefined && (since !== undefined || asOf !== undefined))
    throw invalidParameter("day is the end of a pickup: send it without since and asOf.");
}

/** The changes that a pickup counts: after `since`, up to `until`. By default those since the end of the business day before. */
function windowOf(
  { since, day, days, asOf: upTo }: PickupParameters,
  settings: BusinessDay,
  now: Date,
): { readonly since: string; readonly until: string | null } {
  const asOf = upTo ?? null;
  if (since !== undefined) return { since, until: asOf };
  const until = day === undefined ? asOf : lastOfBusinessDay(day, settings);
  const last = day ?? businessDayOf(instantOf(asOf, now), settings);
  return { since: sinceOf(last, days, settings), until };
}

/** A row as the statement returns it. Numbers are text, because sums are unbounded. */
interface PickupRow extends BooksPlace {
  readonly cause: BooksCause | null;
  readonly booked: string;
  readonly cancelled: string;
  readonly adults: string;
  readonly children: string;
  readonly room_revenue: string | null;
  readonly gross_room_revenue: string | null;
}

const hasAmount = ({ room_revenue, gross_room_revenue }: PickupRow): boolean =>
  room_revenue !== null || gross_room_revenue !== null;

function itemOf({ place, rows }: BookedPlace<PickupRow>, by: StayQuestion["by"]): ItemBy<typeof FIELDS> {
  const { night, unit, currency } = place;
  const nights = rows.filter(({ cause }) => cause === null);
  const countOf = (name: "booked" | "cancelled" | "adults" | "children", of = nights) =>
    of.reduce((sum, row) => sum + Number(row[name]), 0);
  const amountOf = (name: "room_revenue" | "gross_room_revenue") =>
    nights.reduce<string | null>((sum, row) => plus(sum, row[name]), null);
  const [booked, cancelled] = [countOf("booked"), countOf("cancelled")];
  const dayUse = rows.filter(({ cause }) => cause === "dayUse");
  return {
    stayDate: night,
    ...(by === "none" ? {} : { [by]: unit }),
    rooms: booked - cancelled,
    booked,
    cancelled,
    roomRevenue: amountIn(currency, amountOf("room_revenue")),
    grossRoomRevenue: amountIn(currency, amountOf("gross_room_revenue")),
    adults: countOf("adults"),
    children: countOf("children"),
    currency,
    ...withoutNightOf(rows, currency, countOf("booked", dayUse) - countOf("cancelled", dayUse)),
  };
}

/** A night on which two shares are linked: a member of the one at the first instant is one of the other at the second. */
interface ShareLink {
  readonly night: string;
  readonly one: string;
  readonly other: string;
}

/** What linked shares are compared as on each night: shares that are linked, also by way of others, as one. */
function comparedShares(links: readonly ShareLink[]): readonly [string[], string[], string[]] {
  const [nights, shares, comparedAs]: [string[], string[], string[]] = [[], [], []];
  for (const [night, ofNight] of Map.groupBy(links, (link) => link.night)) {
    const parents = new Map<string, string>();
    const rootOf = (share: string): string => {
      let root = share;
      for (let next = parents.get(root); next !== undefined && next !== root; next = parents.get(root))
        root = next;
      // Every share on the way leads to the root directly from here on.
      for (let at = share; at !== root; ) {
        const next = parents.get(at) as string;
        parents.set(at, root);
        at = next;
      }
      return root;
    };
    for (const { one, other } of ofNight) {
      const [root, joined] = [rootOf(one), rootOf(other)];
      parents.set(root, root);
      parents.set(joined, root);
    }
    for (const share of parents.keys()) {
      nights.push(night);
      shares.push(share);
      comparedAs.push(rootOf(share));
    }
  }
  return [nights, shares, comparedAs];
}

async function answer(asked: Asked<typeof PARAMETERS>) {
  const { client, question, queryContext, start, limit, parameters } = asked;
  const { property, by, clock } = question;
  const { settings, statuses, now } = queryContext;
  const { deducting, off } = statuses.reservations;
  const { since, until } = windowOf(parameters, settings, now);
  const statement = await readPickup(client, clock);
  // Receipts have an index that is better only for some periods, so that clock's plan is made for its dates.
  const readChanges = clock === "source" ? readPrepared : readUnnamed;
  const linksStatement = await readShareLinks(client, clock);
  async function* read({ first, last }: NightWindow, wanted: number) {
    const which = [property.bucket, property.propertyId, first, last, since, boundOf(until), deducting];
    const rows = await whileSumming(client, async () => {
      const links = await readPrepared<ShareLink & pg.QueryResultRow>(client, linksStatement, which);
      return await readChanges<PickupRow & pg.QueryResultRow>(client, statement, [
        ...which,
        settings.currency,
        rowsFor(wanted),
        ...afterPlace(start),
        off,
        ...comparedShares(links),
        by,
      ]);
    });
    yield bookedPlaces(rows, start, hasAmount).map((booked) => ({
      item: itemOf(booked, by),
      end: booked.end,
    }));
  }
  const page = await pageOfNights({ client, question, ...BOOKS_PAGES, hasStock: false, read }, start, limit);
  return { items: page.items.map(({ item }) => item), next: page.next, ...besideOf({ since, until }) };
}

function besideOf(window: ReturnType<typeof windowOf>) {
  return { beside: window, ...(window.until === null ? {} : { asOf: window.until }) };
}

export const pickup = insight({
  name: "pickup",
  operationId: "getPickup",
  summary: "Get pickup",
  description:
    "The difference between the books at two instants, by stay date: since the end of yesterday's business day unless `since`, `day` or `days` say otherwise. Bookings made and cancelled in between are not counted; nights without a change are not listed.",
  parameters: PARAMETERS,
  check: checkPeriod,
  item: {
    name: "PickupItem",
    description: "The pickup of one night, group and currency.",
    fields: FIELDS,
    optional: GROUPINGS,
  },
  page: { name: "PickupPage", description: "A page of nights.", fields: WINDOW_FIELDS },
  position: BOOKS_POSITION,
  looksBack: true,
  nothing: (parameters, settings) => {
    const window = windowOf(parameters, settings, new Date());
    return { items: [], next: null, ...besideOf(window) };
  },
  answer,
});
