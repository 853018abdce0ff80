import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { addDays, daysBetween } from "#contract/dates.ts";
import { runExport } from "../../src/export/run-export.ts";
import { keptNights } from "../../src/insight/kept-report.ts";
import { refreshFigures } from "../../src/insight/property-figures.ts";
import { GROUPINGS } from "../../src/insight/question.ts";
import { businessDayOf, lastOfBusinessDay } from "../../src/settings/business-day.ts";
import { setSetting } from "../../src/settings/change-setting.ts";
import { mapStatus } from "../../src/settings/status-mapping.ts";
import { type ExportedRow, foldedRows, rowsOfCsv } from "../export/exported-rows.ts";
import { type ConsoleSession, logInAsNew } from "../support/console-session.ts";
import { askInsight, below, type InsightPageText, insightPage } from "../support/insight-fixture.ts";
import { apply, group, inventory, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/test-server.ts";
import { SeededRandom } from "../workload/seeded-random.ts";

// QUESTIONS=200 npm test -- test/insight/one-answer.test.ts
const QUESTIONS = Number(process.env["QUESTIONS"] ?? 25);
const SEED = Number(process.env["SEED"] ?? 20_261_129);
const OF = { clientCode: "ACME", propertyCode: "WALK01" };
const BUSINESS_DAY = { timeZone: "Asia/Kathmandu", businessDayEnd: "03:00" };
const YEAR_DAYS = 364;
const HOUR_MS = 3_600_000;
/** WALK IN is mapped by the client code, PENDING by nobody. */
const ON_THE_BOOKS = ["CONFIRMED", "In-House", "CHECKED_OUT", "WALK IN"];
const STATUSES = [
  ...ON_THE_BOOKS,
  "CONFIRMED",
  "CONFIRMED",
  "CANCELLED",
  "CANCELLED",
  "NO SHOW",
  "WAITLISTED",
  "PENDING",
];

const NOW = new Date();
const TODAY = businessDayOf(NOW, BUSINESS_DAY);
/** Nights of this year and of last year from so many days before today on. */
const FIRST = -15;
const NIGHTS = 40;

let service: TestService;
let session: ConsoleSession;
/** The nights on the books of an export and of `analytics.stay_night`: as the ledger has them, before shares. */
let exported: readonly Night[];
let sent: readonly Night[];
let exportedBlocks: readonly Item[];
const random = SeededRandom.stream(SEED, 5);

const given = (fields: object) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

/** A full hour so many hours ago. */
const hoursAgo = (hours: number) =>
  new Date(Math.floor(NOW.getTime() / HOUR_MS - hours) * HOUR_MS).toISOString();

function randomStay(from: string, to: string): object {
  const rate = given({
    rateValue: random.pick([80, 101.1, 120, null]),
    grossRateValue: random.pick([99.5, null]),
  });
  return given({
    ...{ arrivalDate: from, departureDate: to, roomTypeCode: random.pick(["DLX", "STD", "=cmd"]) },
    ...{ bookedRoomTypeCode: random.pick(["STD", null]), numberOfAdults: 1 + below(random, 2) },
    numberOfChildren: random.pick([1, null, null]),
    ...{ marketSegmentCode: random.pick(["LEISURE", "CORP", null]), rateCode: random.pick(["BAR", "NEG"]) },
    groupBlockCode: random.pick(["CONF26", null, null]),
    currencyCode: random.pick(["EUR", "JPY", null]),
    rates: Object.keys(rate).length === 0 ? null : [{ startDate: from, endDate: to, ...rate }],
  });
}

/** A version of a reservation of one to three stays, in one of several statuses. Its share stays the same. */
function randomVersion(number: number, base: number, hours: number): object {
  const arrival = addDays(TODAY, base + below(random, NIGHTS - 8));
  const departure = addDays(arrival, 1 + below(random, 4));
  const stays = [randomStay(arrival, departure)];
  // A room move, a second kind of room on the same nights, and day use.
  if (below(random, 4) === 0) stays.push(randomStay(departure, addDays(departure, 1 + below(random, 3))));
  if (below(random, 6) === 0) stays.push(randomStay(arrival, departure));
  if (below(random, 10) === 0) stays.push(randomStay(departure, departure));
  const revenue = random.pick([310.55, 0]);
  return reservation(`W${number}`, hoursAgo(hours), {
    ...OF,
    status: random.pick(STATUSES),
    numberOfRooms: random.pick([1, 1, 2, 3, 0]),
    roomStays: stays,
    ...given({
      channel: random.pick(["WEB", "GDS", null]),
      bookingDateTime: random.pick([hoursAgo(hours + 24 * below(random, 90)), null]),
      stayRevenue:
        below(random, 5) === 0
          ? { daily: [{ occupancyDate: random.pick([arrival, departure]), netRoomRevenue: revenue }] }
          : null,
      shareId: number % 5 === 0 ? `S${number % 30}` : null,
    }),
  });
}

/** Versions of a group block master, some without nights. */
function randomGroups(number: number): object[] {
  return Array.from({ length: 2 }, (_, turn) =>
    group(`G${number}`, hoursAgo(random.pick([8, 30, 100]) + below(random, 20)), {
      ...OF,
      groupStatusCode: random.pick(["DEFINITE", "DEFINITE", "TENTATIVE"]),
      groupBlocks: Array.from({ length: turn === 0 ? 20 : below(random, 30) }, () =>
        given({
          occupancyDate: addDays(TODAY, FIRST + below(random, NIGHTS)),
          roomTypeCode: random.pick(["DLX", "STD"]),
          blocks: below(random, 9) - 1,
          pickup: random.pick([null, 0, 3]),
          originalBlocks: random.pick([null, 8]),
        }),
      ),
    }),
  );
}

/** One to three versions, some of them late and some of last year's nights. */
function randomVersions(number: number): object[] {
  const years = number % 3 === 0 ? 1 : 0;
  return Array.from({ length: 1 + below(random, 3) }, () =>
    // Not around the instant of the same time last year, which moves on with the hour.
    randomVersion(
      number,
      FIRST - years * YEAR_DAYS,
      years * 24 * YEAR_DAYS +
        random.pick([-200, 8, 30, 100, 24 * 40, 24 * 60].filter((hours) => hours > 0 || years > 0)) +
        below(random, 20),
    ),
  );
}

before(async () => {
  service = await startTestService();
  session = await logInAsNew(service, "anna");
  await mapStatus(
    service.pool,
    { clientCode: OF.clientCode, resource: "reservations", status: "WALK IN" },
    true,
  );
  for (const [name, value] of Object.entries(BUSINESS_DAY))
    await setSetting(service.pool, { ...OF, name: name as keyof typeof BUSINESS_DAY }, value);
  await setSetting(service.pool, { ...OF, name: "currency" }, "EUR");
  const versions = Array.from({ length: 180 }, (_, number) => randomVersions(number));
  for (const turn of [2, 0, 1])
    await apply(
      service,
      "reservations",
      versions.flatMap((all) => all.slice(turn, turn + 1)),
    );
  const groups = Array.from({ length: 12 }, (_, number) => randomGroups(number));
  for (const turn of [1, 0])
    await apply(
      service,
      "groups",
      groups.map((all) => all[turn] as object),
    );
  const nights = Array.from({ length: NIGHTS }, (_, night) => night).filter((night) => night % 5 !== 0);
  for (const years of [1, 0])
    await apply(
      service,
      "inventories",
      nights.map((night) =>
        inventory(addDays(TODAY, FIRST + night - years * YEAR_DAYS), hoursAgo(years * 24 * YEAR_DAYS + 400), {
          ...OF,
          roomTypeInventories: [
            {
              roomTypeCode: "DLX",
              roomTypeCapacity: 30 + night,
              roomsSold: 3,
              roomsNotAvailableMaintenance: night % 3,
            },
          ],
        }),
      ),
    );
  const directory = await temporaryDirectory("export");
  const { clientConfig } = service.database;
  await runExport({ clientConfig, pool: service.pool, directory, full: false, format: "parquet" });
  const dateOf = (row: ExportedRow) => new Date(row["stay_date"] as Date).toISOString().slice(0, 10);
  exportedBlocks = (await foldedRows(directory, "blocks")).map((row) => ({ ...row, stayDate: dateOf(row) }));
  const rows = await foldedRows(directory, "nights");
  exported = nightsOf(rows.map((row) => ({ ...row, stay_date: dateOf(row) })));
  const { rows: stayNights } = await service.pool.query<ExportedRow>(
    `select night.*, occupancy_date::text as stay_date, null as cause, reservation.channel from analytics.stay_night as night
    join analytics.reservation using (client_code, property_code, reservation_id)`,
  );
  sent = nightsOf(stayNights.filter(({ rooms, room_revenue }) => rooms !== 0 || room_revenue !== null));
  await refreshFigures(service.pool);
});
after(() => service.stop());

const COLUMNS = {
  none: "null::text",
  roomType: "room_type_code",
  bookedRoomType: "coalesce(booked_room_type_code, room_type_code)",
  marketSegment: "market_segment_code",
  rateCode: "rate_code",
  channel: "channel",
  group: "group_block_code",
} as const;
type By = keyof typeof COLUMNS;

interface Question {
  readonly from: string;
  readonly to: string;
  readonly by: By;
  /** Null: now. */
  readonly asOf: string | null;
}

type Item = Readonly<Record<string, unknown>>;
type Amount = number | null;
const NAMES = ["rooms", "adults", "children", "roomRevenue", "grossRoomRevenue"] as const;
type Sums = Readonly<Record<(typeof NAMES)[number], Amount>>;

/** Figures by night, group and currency. */
type Figures = ReadonlyMap<string, Sums>;

const amountOf = (value: unknown): Amount =>
  value === null || value === undefined ? null : Math.round(Number(value) * 10_000) / 10_000 + 0;
/** An amount that nobody reports is none, and not 0. */
const plus = (one: Amount, other: Amount): Amount =>
  one === null ? other : other === null ? one : amountOf(one + other);

/** Adds up rows by their place; without those that have nothing. */
function figuresOf(rows: readonly (Sums & { readonly place: readonly unknown[] })[]): Figures {
  const figures = new Map<string, Sums>();
  for (const { place, ...row } of rows) {
    const key = JSON.stringify(place.map((part) => part ?? null));
    const sums = figures.get(key);
    const sum = NAMES.map((name) => [name, plus(sums?.[name] ?? null, row[name])]);
    figures.set(key, Object.fromEntries(sum) as Sums);
  }
  return new Map([...figures].filter(([, sums]) => NAMES.some((name) => (sums[name] ?? 0) !== 0)).sort());
}

/** Figures of items, by the names that they have in `of`. */
const ofItems = (items: readonly Item[], by: By, of: (name: string) => string = (name) => name): Figures =>
  figuresOf(
    items.map((item) => ({
      place: [item["stayDate"], by === "none" ? null : item[by], item["currency"]],
      ...(Object.fromEntries(NAMES.map((name) => [name, amountOf(item[of(name)])])) as Sums),
    })),
  );

/** The answer to a question by API, which CSV and the console have too, value by value. */
async function askAlike(
  name: string,
  parameters: object,
  of: object = { ...OF, limit: "10000" },
  inConsole = `insight/${name}`,
): Promise<InsightPageText> {
  const asked = given({ ...parameters, ...of }) as Record<string, string>;
  const [page, csv, console] = await Promise.all([
    insightPage(service, name, asked),
    askInsight(service, name, asked, { headers: { accept: "text/csv" } }),
    session.read<InsightPageText>(`${inConsole}?${new URLSearchParams(asked)}`),
  ]);
  assert.equal(page.nextCursor ?? null, null);
  assert.deepEqual(console.items, page.items, `console: ${JSON.stringify(asked)}`);
  const lines = rowsOfCsv(csv.text.replaceAll("\r\n", "\n"));
  const [header = {}] = lines;
  const texts = page.items.map((item) =>
    Object.fromEntries(
      Object.keys(header).map((column) => {
        const value = item[column] ?? null;
        return [column, value === null ? null : String(value).replace(/^=/, "'=")];
      }),
    ),
  );
  assert.ok(
    page.items.length === 0 || Object.keys(header).length >= Object.keys(page.items[0] ?? {}).length - 1,
  );
  assert.deepEqual(lines, texts, `CSV: ${JSON.stringify(asked)}`);
  return page;
}

async function rowsOf(sql: string, values: readonly unknown[]): Promise<Item[]> {
  const { rows } = await service.pool.query<Item>({ text: sql, values: [...values] });
  return rows;
}

/** The books by SQL. */
async function booksBySql({ from, to, by, asOf }: Question): Promise<Figures> {
  const rows = await rowsOf(
    `select stay_date::text as "stayDate", ${COLUMNS[by]} as unit, currency_code as currency, sum(rooms) as rooms, sum(adults) as adults,
      sum(children) as children, sum(room_revenue) as "roomRevenue", sum(gross_room_revenue) as "grossRoomRevenue"
    from analytics.night_on_the_books_as_of($1, 'source', $2, $3, $4, $5) group by 1, 2, 3`,
    [asOf ?? "infinity", OF.clientCode, OF.propertyCode, from, to],
  );
  return ofItems(
    rows.map((row) => ({ ...row, [by]: row["unit"] })),
    by,
  );
}

interface Night {
  readonly date: string;
  readonly key: string;
  readonly shareId: string | null;
  readonly currency: unknown;
  readonly codes: ExportedRow;
  readonly place: string;
  readonly sums: Sums;
}

/** The nights on the books of rows, in an order in which the first of a sharer's has the rooms beyond its own. */
function nightsOf(rows: readonly ExportedRow[]): Night[] {
  const parts = [
    "room_type_code",
    "booked_room_type_code",
    "market_segment_code",
    "group_block_code",
    "rate_code",
    "channel",
    "currency_code",
  ];
  return rows
    .filter(
      ({ status, cause }) => ON_THE_BOOKS.includes(String(status)) && (cause === null || cause === "posted"),
    )
    .map((row) => ({
      date: String(row["stay_date"]),
      key: String(row["reservation_id"]),
      shareId: row["share_id"] as string | null,
      currency: row["currency_code"] ?? "EUR",
      codes: row,
      // What is not sent comes last.
      place: parts.map((part) => row[part] ?? "\uffff").join("\0"),
      sums: {
        ...{ rooms: Number(row["rooms"]), adults: Number(row["adults"]), children: Number(row["children"]) },
        roomRevenue: amountOf(row["room_revenue"]),
        grossRoomRevenue: amountOf(row["gross_room_revenue"]),
      },
    }))
    .sort((one, other) => (one.place < other.place ? -1 : 1));
}

/** A reader's sum over nights: of a share, the smallest key on a night has as many rooms as the most of any member. */
function booksOf(nights: readonly Night[], { from, to, by }: Question): Figures {
  const asked = nights.filter(({ date }) => date >= from && date <= to);
  const more = new Map<Night, number>();
  const shared = asked.filter(({ shareId }) => shareId !== null);
  for (const share of Map.groupBy(shared, ({ date, shareId }) => `${date} ${shareId}`).values()) {
    const members = [...Map.groupBy(share, ({ key }) => key)].sort(([one], [other]) =>
      one < other ? -1 : 1,
    );
    const named = members.map(([, own]) => own.reduce((sum, { sums }) => sum + (sums.rooms ?? 0), 0));
    for (const [at, [, own]] of members.entries())
      for (const [place, night] of own.entries()) {
        const beyond = place === 0 ? Math.max(...named) - (named[0] ?? 0) : 0;
        more.set(night, at === 0 ? beyond : -(night.sums.rooms ?? 0));
      }
  }
  const unitOf = ({ codes }: Night) =>
    ({
      none: null,
      roomType: codes["room_type_code"],
      bookedRoomType: codes["booked_room_type_code"] ?? codes["room_type_code"],
      marketSegment: codes["market_segment_code"],
      rateCode: codes["rate_code"],
      channel: codes["channel"],
      group: codes["group_block_code"],
    })[by];
  return figuresOf(
    asked.map((night) => ({
      ...night.sums,
      rooms: (night.sums.rooms ?? 0) + (more.get(night) ?? 0),
      place: [night.date, unitOf(night), night.currency],
    })),
  );
}

const titleOf = (kind: string, question: object) => `${kind} ${JSON.stringify(question)}`;

async function askBooks(question: Question): Promise<number> {
  const { items } = await askAlike("on-the-books", question);
  const byApi = ofItems(items, question.by);
  assert.deepEqual(await booksBySql(question), byApi, titleOf("SQL", question));
  if (question.asOf !== null) return byApi.size;
  assert.deepEqual(booksOf(exported, question), byApi, titleOf("export", question));
  assert.deepEqual(booksOf(sent, question), byApi, titleOf("stay_night", question));
  return byApi.size;
}

/** Revenue without a night, of this moment, by cause: as amounts of the places that have any. Few have. */
async function askWithoutNight(question: Question): Promise<number> {
  const { from, by } = question;
  const to = addDays(from, NIGHTS);
  const { items } = await askAlike("on-the-books", { from, to, by });
  const rows = await rowsOf(
    `select occupancy_date::text as date, ${COLUMNS[by].replace("channel", "reservation.channel")} as unit,
      coalesce(currency_code, 'EUR') as currency, cause, sum(room_revenue) as revenue
    from (select * from analytics.revenue_without_night) as extra
    join analytics.status_meaning using (client_code, property_code, status)
    join (select client_code, property_code, reservation_id, channel from analytics.reservation) as reservation
      using (client_code, property_code, reservation_id)
    where client_code = $1 and property_code = $2 and resource = 'reservations' and on_the_books
      and occupancy_date between $3 and $4
    group by 1, 2, 3, 4`,
    [OF.clientCode, OF.propertyCode, from, to],
  );
  const amounts = (of: readonly (readonly [place: readonly unknown[], amount: Amount])[]) =>
    of
      .filter(([, amount]) => (amount ?? 0) !== 0)
      .map(([place, amount]) => `${JSON.stringify(place)} ${amount}`)
      .sort();
  const bySql = amounts(
    rows.map(({ date, unit, currency, cause, revenue }) => [
      [date, unit, currency, `${cause}Revenue`],
      amountOf(revenue),
    ]),
  );
  const byApi = amounts(
    items.flatMap((item) =>
      ["dayUseRevenue", "outsideStayRevenue"].map(
        (name) =>
          [
            [item["stayDate"], by === "none" ? null : (item[by] ?? null), item["currency"], name],
            amountOf(item[name]),
          ] as const,
      ),
    ),
  );
  assert.deepEqual(bySql, byApi, titleOf("revenue without a night", question));
  return byApi.length;
}

/** Signed: the later figures minus the earlier ones, where an amount that neither has is 0. */
function minus(now: Figures, then: Figures): Figures {
  const signed = (figures: Figures, sign: number) =>
    [...figures].map(([key, sums]) => ({
      place: JSON.parse(key) as unknown[],
      ...(Object.fromEntries(NAMES.map((name) => [name, amountOf(sign * (sums[name] ?? 0))])) as Sums),
    }));
  return figuresOf([...signed(now, 1), ...signed(then, -1)]);
}

const todayOf = ({ asOf }: Question) =>
  businessDayOf(asOf === null ? new Date() : new Date(asOf), BUSINESS_DAY);

async function askPickup(question: Question): Promise<number> {
  const days = random.pick([1, 3, 7, 30]);
  const since = lastOfBusinessDay(addDays(todayOf(question), -days), BUSINESS_DAY);
  const { items } = await askAlike("pickup", { ...question, days: String(days) });
  for (const item of items) assert.equal(Number(item["booked"]) - Number(item["cancelled"]), item["rooms"]);
  const byApi = minus(ofItems(items, question.by), new Map());
  const bySql = minus(await booksBySql(question), await booksBySql({ ...question, asOf: since }));
  assert.deepEqual(bySql, byApi, titleOf(`pickup of ${days} days`, question));
  return byApi.size;
}

/** All nights of a range together, each as of the end of its business day so many days before. */
async function curveBySql({ from, to, by, asOf }: Question, days: number): Promise<Figures> {
  const rows = await rowsOf(
    `select ${COLUMNS[by]} as unit, currency_code as currency, sum(rooms) as rooms, sum(room_revenue) as "roomRevenue",
      sum(gross_room_revenue) as "grossRoomRevenue"
    from generate_series($4::date, $5::date, interval '1 day') as night
    cross join lateral analytics.night_on_the_books_as_of(
      least($1, analytics.end_of_business_day(night::date - $6::integer, $7, $8) - interval '1 microsecond'),
      'source', $2, $3, night::date, night::date
    ) group by 1, 2`,
    [asOf ?? "infinity", OF.clientCode, OF.propertyCode, from, to, days, ...Object.values(BUSINESS_DAY)],
  );
  return ofItems(
    rows.map((row) => ({ ...row, [by]: row["unit"] })),
    by,
  );
}

async function askPace(question: Question): Promise<number> {
  const { items } = await askAlike("pace", { ...question, daysBefore: "40" });
  let cells = 0;
  for (const days of [0, 1 + below(random, 40)]) {
    const point = items.filter(({ daysBefore }) => daysBefore === days);
    const ofPoint = (of?: (name: string) => string) => ofItems(point, question.by, of);
    const isToCome = daysBetween(todayOf(question), question.to) > days;
    for (const { rooms } of point) assert.equal(rooms === null, isToCome, titleOf("pace", question));
    const bySql = isToCome ? new Map() : await curveBySql(question, days);
    assert.deepEqual(bySql, ofPoint(), titleOf(`pace ${days} days before`, question));
    cells += bySql.size;
    const isKnown = point.some(({ lastYearRooms }) => lastYearRooms !== null);
    if (!isKnown) continue;
    const [from, to] = [question.from, question.to].map((date) => addDays(date, -YEAR_DAYS)) as [
      string,
      string,
    ];
    const lastYear = await curveBySql({ ...question, from, to }, days);
    const nameOf = (name: string) => `lastYear${name[0]?.toUpperCase()}${name.slice(1)}`;
    assert.deepEqual(lastYear, ofPoint(nameOf), titleOf(`last year's pace ${days} days before`, question));
    cells += lastYear.size;
  }
  return cells;
}

/** Last year's figures, of the same time and final, where they are known. */
async function askLastYear(question: Question): Promise<number> {
  const page = await askAlike("on-the-books", { ...question, compare: "lastYear" });
  const { lastYearAsOf, lastYearKnownFrom } = page as InsightPageText &
    Record<"lastYearAsOf" | "lastYearKnownFrom", string>;
  const [from, to] = [question.from, question.to].map((date) => addDays(date, -YEAR_DAYS)) as [
    string,
    string,
  ];
  let cells = 0;
  for (const [name, asOf] of [
    ["lastYear", lastYearAsOf],
    ["lastYearFinal", question.asOf],
  ] as const) {
    const then = await booksBySql({ ...question, from, to, asOf });
    const known = page.items.filter((item) => item[`${name}Rooms`] !== null);
    for (const item of page.items)
      if (name === "lastYearFinal" && question.asOf === null)
        assert.equal(
          item["lastYearFinalRooms"] !== null,
          addDays(String(item["stayDate"]), -YEAR_DAYS) >= lastYearKnownFrom,
        );
    const nights = new Set(known.map(({ stayDate }) => stayDate));
    const rows = [...then].flatMap(([key, { rooms, roomRevenue }]) => {
      const [night, ...place] = JSON.parse(key) as string[];
      const date = addDays(String(night), YEAR_DAYS);
      return nights.has(date)
        ? [
            {
              place: [date, ...place],
              rooms,
              roomRevenue,
              adults: null,
              children: null,
              grossRoomRevenue: null,
            },
          ]
        : [];
    });
    const nameOf = (figure: string) =>
      figure === "rooms" || figure === "roomRevenue"
        ? `${name}${figure[0]?.toUpperCase()}${figure.slice(1)}`
        : "";
    // Nobody on the books of a known night is a revenue of 0.
    const withoutZero = (figures: Figures) => [...figures].filter(([, { rooms }]) => (rooms ?? 0) !== 0);
    const byApi = ofItems(known, question.by, nameOf);
    assert.deepEqual(withoutZero(figuresOf(rows)), withoutZero(byApi), titleOf(name, question));
    cells += byApi.size;
  }
  return cells;
}

async function askMovements({ from, to, asOf }: Question): Promise<number> {
  const asked = { from, to, asOf };
  const { items } = await askAlike("movements", asked);
  const rows = await rowsOf(
    `select stay_date::text as "stayDate", arrivals, departures, stay_throughs as "stayThroughs", length_of_stay as "lengthOfStay",
      lead_days as "leadDays", cancelled_rooms as "cancelledRooms", cancelled_room_revenue as "cancelledRoomRevenue",
      cancelled_lead_days as "cancelledLeadDays", cancellation_rate as "cancellationRate", no_show_rooms as "noShowRooms",
      no_show_room_revenue as "noShowRoomRevenue", no_show_rate as "noShowRate", currency_code as currency
    from analytics.movement_as_of($1, 'source', $2, $3, $4, $5) order by 1, currency_code collate "C"`,
    [asOf ?? "infinity", OF.clientCode, OF.propertyCode, from, to],
  );
  const inNumbers = (all: readonly Item[]) =>
    all.map((item) =>
      Object.fromEntries(
        Object.entries(item).map(([name, value]) => [
          name,
          /^(stayDate|currency)$/.test(name) ? value : amountOf(value),
        ]),
      ),
    );
  assert.deepEqual(inNumbers(rows), inNumbers(items), titleOf("movements", asked));
  // Arrivals and stay-throughs are the rooms on the books, whatever currency each has.
  const books = await booksBySql({ from, to, by: "none", asOf });
  const sumOf = (of: readonly unknown[]) => of.reduce<number>((sum, one) => sum + Number(one), 0);
  assert.equal(
    sumOf(items.flatMap(({ arrivals, stayThroughs }) => [arrivals, stayThroughs])),
    sumOf([...books.values()].map(({ rooms }) => rooms)),
  );
  return items.length;
}

const SUMS = ["none", "dayOfWeek", "week", "month", "quarter", "total"];

/** The report has the figures of the books and of movements; that of several hotels, if there is only one, those of its report. */
async function askReport({ from, to, asOf }: Question): Promise<number> {
  const sum = random.pick(SUMS);
  const asked = { from, to, asOf, sum };
  const { items } = await askAlike("daily-report", asked);
  const title = titleOf("daily report", asked);
  const keyOf = ({ stayDate, currency }: Item) => `${stayDate} ${currency}`;
  const report = new Map(items.map((item) => [keyOf(item), item]));
  const books = await askAlike("on-the-books", { ...asked, compare: "all" });
  for (const item of books.items)
    for (const [name, value] of Object.entries(item))
      assert.deepEqual(report.get(keyOf(item))?.[name], value, `${title} ${keyOf(item)} ${name}`);
  const moved = await askAlike("movements", asked);
  const sumOf = (of: readonly Item[], name: string) =>
    of.reduce((all, item) => all + Number(item[name] ?? 0), 0);
  for (const name of ["arrivals", "departures", "stayThroughs", "cancelledRooms", "noShowRooms"])
    assert.equal(sumOf(items, name), sumOf(moved.items, name), `${title} ${name}`);
  return items.length;
}

/** Blocks by night, group and room type: rooms held, picked up and remaining, of groups whose status holds rooms. */
async function askBlocks({ from, to, asOf }: Question): Promise<number> {
  const { items } = await askAlike("blocks", { from, to, asOf, by: "roomType" });
  const sumsOf = (rows: readonly Item[], isHeld: (row: Item) => boolean) => {
    const sums = new Map<string, number[]>();
    for (const row of rows.filter(isHeld)) {
      const place = [
        row["stayDate"],
        row["group"] ?? row["group_code"],
        row["roomType"] ?? row["room_type_code"],
      ];
      const own = [row["blocks"], row["pickedUp"] ?? row["picked_up"] ?? row["pickup"]];
      const before = sums.get(place.join(" ")) ?? [0, 0];
      sums.set(
        place.join(" "),
        before.map((sum, at) => sum + Math.max(0, Number(own[at] ?? 0))),
      );
    }
    return new Map([...sums].filter(([, some]) => some.some((sum) => sum !== 0)).sort());
  };
  const byApi = sumsOf(items, () => true);
  const rows = await rowsOf(
    `select occupancy_date::text as "stayDate", * from analytics.group_block_night_as_of($1, 'source', $2, $3)
    join analytics.status_meaning using (client_code, property_code, status)
    where occupancy_date between $4 and $5 and resource = 'groups' and on_the_books`,
    [asOf ?? "infinity", OF.clientCode, OF.propertyCode, from, to],
  );
  const title = titleOf("blocks", { from, to, asOf });
  assert.deepEqual(
    sumsOf(rows, () => true),
    byApi,
    title,
  );
  for (const { blocks, pickedUp, remaining } of items)
    assert.equal(remaining, Math.max(0, Number(blocks) - Number(pickedUp ?? 0)), title);
  if (asOf !== null) return byApi.size;
  const isAsked = ({ stayDate, status }: Item) =>
    String(stayDate) >= from && String(stayDate) <= to && status === "DEFINITE";
  assert.deepEqual(sumsOf(exportedBlocks, isAsked), byApi, `export: ${title}`);
  return byApi.size;
}

test(`API, CSV, console, SQL and export answer ${QUESTIONS} questions alike`, async () => {
  const kinds = {
    blocks: askBlocks,
    books: askBooks,
    withoutNight: askWithoutNight,
    pickup: askPickup,
    pace: askPace,
    lastYear: askLastYear,
    movements: askMovements,
    report: askReport,
  };
  const kindCount = Object.keys(kinds).length;
  const cells = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, 0]));
  for (let number = 0; number < QUESTIONS; number += 1) {
    const [kind, ask] = Object.entries(kinds)[number % kindCount] as [string, typeof askBooks];
    const from = addDays(TODAY, FIRST + below(random, NIGHTS));
    const question: Question = {
      from,
      to: addDays(from, below(random, kind === "pace" ? 4 : 14)),
      by: random.pick(["none", ...GROUPINGS]),
      asOf: random.pick([null, hoursAgo(random.pick([8, 20, 31, 100, 190]) + below(random, 20))]),
    };
    cells[kind] = (cells[kind] ?? 0) + (await ask(question));
  }
  for (const [kind, count] of Object.entries(cells))
    assert.ok(count >= QUESTIONS / kindCount, `only ${count} cells of ${kind} were compared`);
});

test("the report of several hotels has the figures of the report of one, if it is the only one", async () => {
  const { from } = keptNights(TODAY);
  for (const sum of SUMS)
    for (const to of [TODAY, addDays(TODAY, 40)]) {
      const asked = { from, to, sum };
      const { items } = await askAlike("daily-report", asked);
      const { totals } = (await insightPage(service, "daily-report", {
        ...OF,
        ...asked,
      })) as InsightPageText & {
        totals: Item[];
      };
      const of = { hotels: `${OF.clientCode}/${OF.propertyCode}` };
      const many = (await askAlike("portfolio-report", asked, of, "portfolio-report")) as InsightPageText & {
        totals: Item[];
      };
      const withoutCount = (all: readonly Item[]) =>
        all.map(({ properties, ...item }) => {
          assert.equal(properties, 1);
          return item;
        });
      assert.ok(items.length > 0);
      assert.deepEqual(withoutCount(many.items), items, JSON.stringify(asked));
      assert.deepEqual(withoutCount(many.totals), totals, JSON.stringify(asked));
    }
});

test("the documented SQL has the pickups, last year's figures and movements of the API", async () => {
  const [from, to] = [addDays(TODAY, FIRST), addDays(TODAY, FIRST + NIGHTS)];
  const document = await readFile(new URL("../../docs/analytics.md", import.meta.url), "utf8");
  const exampleThat = async (has: string) => {
    const examples = [...document.matchAll(/```sql\n([\s\S]*?);\n```/g)].map(([, sql = ""]) => sql);
    const example = examples.find((sql) => sql.includes(has)) ?? assert.fail(has);
    const asked = [
      ["PARIS01", OF.propertyCode],
      ["2026-07-01", from],
      ["2026-07-31", to],
    ] as const;
    const sql = asked.reduce((text, [named, own]) => text.replaceAll(`'${named}'`, `'${own}'`), example);
    return new Map(
      (await rowsOf(`select stay_date::text as date, answer.* from (${sql}) as answer`, [])).map((row) => [
        `${row["date"]} ${row["currency_code"]}`,
        row,
      ]),
    );
  };
  const inSnakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  let cells = 0;
  const requireEqual = (
    items: readonly Item[],
    rows: ReadonlyMap<string, Item>,
    names: Readonly<Record<string, string>>,
  ) => {
    for (const item of items)
      for (const [name, column] of Object.entries(names)) {
        // Unknown in the API; the query knows neither what is unknown nor nights of nobody.
        if (item[name] === null) continue;
        const place = `${item["stayDate"]} ${item["currency"]}`;
        assert.equal(amountOf(rows.get(place)?.[column]) ?? 0, amountOf(item[name]), `${name} of ${place}`);
        if (amountOf(item[name]) !== 0) cells += 1;
      }
  };
  const { items } = await askAlike("on-the-books", { from, to, compare: "all" });
  const pickups = [1, 3, 7, 30].flatMap((days) => [
    [`pickup${days}Rooms`, `pickup_${days}`],
    [`pickup${days}RoomRevenue`, `revenue_pickup_${days}`],
  ]);
  requireEqual(items, await exampleThat("as pickup_1"), { rooms: "rooms", ...Object.fromEntries(pickups) });
  const years = [
    "rooms",
    "lastYearRooms",
    "lastYearFinalRooms",
    "roomRevenue",
    "lastYearRoomRevenue",
    "lastYearFinalRoomRevenue",
  ];
  const ofNames = (names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, inSnakeCase(name)]));
  requireEqual(items, await exampleThat("as last_year_rooms"), ofNames(years));
  const moved = await askAlike("movements", { from, to });
  const names = Object.keys(moved.items[0] ?? {}).filter((name) => !/^(stayDate|currency)$/.test(name));
  requireEqual(moved.items, await exampleThat("stay_throughs, length_of_stay,"), ofNames(names));
  assert.ok(cells > 500, `only ${cells} cells were compared`);
});
