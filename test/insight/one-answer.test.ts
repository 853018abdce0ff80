import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { addDays } from "#contract/dates.ts";
import { runExport } from "../../src/export/run-export.ts";
import { GROUPINGS } from "../../src/insight/question.ts";
import { type ExportedRow, foldedRows, rowsOfCsv } from "../export/exported-rows.ts";
import { type ConsoleSession, logInAsNew } from "../support/console-session.ts";
import { askInsight, below, insightItems } from "../support/insight-fixture.ts";
import { apply, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/test-server.ts";
import { SeededRandom } from "../workload/seeded-random.ts";

// QUESTIONS=200 npm test -- test/insight/one-answer.test.ts
const QUESTIONS = Number(process.env["QUESTIONS"] ?? 25);
const SEED = Number(process.env["SEED"] ?? 20_261_129);
const OF = { clientCode: "ACME", propertyCode: "WALK01" };
const FIRST = "2026-07-01";
const NIGHTS = 40;
const ON_THE_BOOKS = ["CONFIRMED", "IN_HOUSE", "CHECKED_OUT"];

let service: TestService;
let session: ConsoleSession;
let exported: readonly ExportedRow[];
const random = SeededRandom.stream(SEED, 5);

const given = (fields: object) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

/** A reservation of one or two stays, some sharing a room, in one of several statuses. */
function randomReservation(number: number): object {
  const arrivalDate = addDays(FIRST, below(random, NIGHTS - 8));
  const departureDate = addDays(arrivalDate, 1 + below(random, 4));
  const stayOf = (from: string, to: string) =>
    given({
      ...{ arrivalDate: from, departureDate: to, roomTypeCode: random.pick(["DLX", "STD", "=cmd"]) },
      ...{ bookedRoomTypeCode: random.pick(["STD", null]), numberOfAdults: 1 + below(random, 2) },
      ...{
        marketSegmentCode: random.pick(["LEISURE", "CORP", null]),
        rateCode: random.pick(["BAR", "NEG"]),
      },
      ...{
        groupBlockCode: random.pick(["CONF26", null, null]),
        currencyCode: random.pick(["EUR", "EUR", "JPY"]),
      },
      rates: [{ startDate: from, endDate: to, rateValue: random.pick([80, 101.1, 120]) }],
    });
  const moves = below(random, 4) === 0;
  const stays = [stayOf(arrivalDate, departureDate)];
  if (moves) stays.push(stayOf(departureDate, addDays(departureDate, 1 + below(random, 3))));
  return reservation(`W${number}`, `2026-0${1 + below(random, 5)}-1${below(random, 9)}T10:00:00Z`, {
    ...OF,
    status: random.pick([...ON_THE_BOOKS, "CONFIRMED", "CANCELLED", "NO SHOW"]),
    numberOfRooms: 1 + below(random, 3),
    roomStays: stays,
    ...given({ channel: random.pick(["WEB", "GDS", null]) }),
    ...(below(random, 5) === 0 ? { shareId: `S${below(random, 6)}` } : {}),
  });
}

before(async () => {
  service = await startTestService();
  session = await logInAsNew(service, "anna");
  await apply(
    service,
    "reservations",
    Array.from({ length: 150 }, (_, number) => randomReservation(number)),
  );
  const directory = await temporaryDirectory("export");
  const { clientConfig } = service.database;
  await runExport({ clientConfig, pool: service.pool, directory, full: false, format: "parquet" });
  exported = (await foldedRows(directory, "nights")).filter((row) =>
    ON_THE_BOOKS.includes(String(row["status"])),
  );
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
}

/** Rooms and cents by night, group and currency; without those that have neither. */
type Figures = ReadonlyMap<string, readonly [rooms: number, cents: number]>;

function figuresOf(
  rows: readonly (readonly [
    night: unknown,
    unit: unknown,
    currency: unknown,
    rooms: unknown,
    revenue: unknown,
  ])[],
): Figures {
  const figures = new Map<string, readonly [number, number]>();
  for (const [night, unit, currency, rooms, revenue] of rows) {
    const key = JSON.stringify([night, unit ?? null, currency ?? null]);
    const [sumOfRooms, cents] = figures.get(key) ?? [0, 0];
    figures.set(key, [sumOfRooms + Number(rooms), cents + Math.round(Number(revenue ?? 0) * 100)]);
  }
  return new Map([...figures].filter(([, [rooms, cents]]) => rooms !== 0 || cents !== 0).sort());
}

type Row = Readonly<Record<string, unknown>>;
const ofItems = (items: readonly Row[], by: By) =>
  figuresOf(
    items.map((item) => [
      item["stayDate"],
      by === "none" ? null : item[by],
      item["currency"],
      item["rooms"],
      item["roomRevenue"],
    ]),
  );

/** A share is one row of a night, under the first of its reservations that have one: as docs/analytics.md has it. */
async function bySql({ from, to, by }: Question): Promise<Figures> {
  const { rows } = await service.pool.query<Row>(
    `with night as (
      select night.occupancy_date::text as night, ${COLUMNS[by]} as unit, currency_code, reservation.share_id,
        coalesce(net_room_revenue, rate_value * coalesce(night.number_of_rooms, 1)) as revenue,
        case
          when reservation.share_id is null then coalesce(night.number_of_rooms, 1)
          when row_number() over sharers = 1 then max(coalesce(night.number_of_rooms, 1)) over sharers
          else 0
        end as rooms
      from analytics.stay_night as night
      join analytics.reservation using (client_code, property_code, reservation_id)
      where client_code = 'ACME' and property_code = 'WALK01' and night.occupancy_date between $1 and $2
        and night.status = any ($3)
      window sharers as (
        partition by night.occupancy_date, reservation.share_id order by reservation_id, stay_number
        rows between unbounded preceding and unbounded following
      )
    )
    select night, unit, currency_code, rooms, revenue from night`,
    [from, to, ON_THE_BOOKS],
  );
  return figuresOf(
    rows.map((row) => [row["night"], row["unit"], row["currency_code"], row["rooms"], row["revenue"]]),
  );
}

/** The same of the nights of an export. */
function byExport({ from, to, by }: Question): Figures {
  const nights = exported
    .map((row) => ({ ...row, night: new Date(row["stay_date"] as Date).toISOString().slice(0, 10) }) as Row)
    .filter(({ night }) => String(night) >= from && String(night) <= to);
  const shares = Map.groupBy(nights, (row) =>
    row["share_id"] === null ? null : `${row["night"]} ${row["share_id"]}`,
  );
  const roomsOf = (row: Row) => {
    if (row["share_id"] === null) return Number(row["rooms"]);
    const members = shares.get(`${row["night"]} ${row["share_id"]}`) ?? [];
    const holder = members.map((one) => String(one["reservation_id"])).sort()[0];
    return row["reservation_id"] === holder ? Math.max(...members.map((one) => Number(one["rooms"]))) : 0;
  };
  const unitOf = (row: Row) =>
    ({
      none: null,
      roomType: row["room_type_code"],
      bookedRoomType: row["booked_room_type_code"] ?? row["room_type_code"],
      marketSegment: row["market_segment_code"],
      rateCode: row["rate_code"],
      channel: row["channel"],
      group: row["group_block_code"],
    })[by];
  return figuresOf(
    nights.map((row) => [row["night"], unitOf(row), row["currency_code"], roomsOf(row), row["room_revenue"]]),
  );
}

test(`API, CSV, console, SQL views and export answer ${QUESTIONS} questions alike`, async () => {
  let cells = 0;
  for (let number = 0; number < QUESTIONS; number += 1) {
    const by: By = random.pick(["none", ...GROUPINGS]);
    const from = addDays(FIRST, below(random, NIGHTS));
    const question = { from, to: addDays(from, below(random, 14)), by };
    const asked = { ...OF, ...question, limit: "10000" };
    const byApi = ofItems(await insightItems(service, "on-the-books", asked), by);
    const csv = await askInsight(service, "on-the-books", asked, { headers: { accept: "text/csv" } });
    const withoutFormula = (row: Row) => (row[by] === "'=cmd" ? { ...row, [by]: "=cmd" } : row);
    const answers = {
      csv: ofItems(rowsOfCsv(csv.text.replaceAll("\r\n", "\n")).map(withoutFormula), by),
      console: ofItems(
        (await session.read<{ items: Row[] }>(`insight/on-the-books?${new URLSearchParams(asked)}`)).items,
        by,
      ),
      sql: await bySql(question),
      export: byExport(question),
    };
    for (const [name, figures] of Object.entries(answers))
      assert.deepEqual(figures, byApi, `${name} of ${JSON.stringify(question)}`);
    cells += byApi.size;
  }
  assert.ok(cells > QUESTIONS * 5, `only ${cells} cells were compared`);
});

test("API, CSV, console and the documented SQL have the same movements of July", async () => {
  const asked = { ...OF, from: "2026-07-01", to: "2026-07-31", limit: "10000" };
  const names = ["arrivals", "departures", "stayThroughs", "cancelledRooms", "noShowRooms"];
  const inSnakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  /** All currencies of a date together; without dates that have only zeros. */
  const byDate = (rows: readonly Row[], dateOf: (row: Row) => string, nameOf = (name: string) => name) =>
    Object.fromEntries(
      [...Map.groupBy(rows, dateOf)]
        .map(([date, some]): [string, number[]] => [
          date,
          names.map((name) => some.reduce((sum, row) => sum + Number(row[nameOf(name)]), 0)),
        ])
        .filter(([, counts]) => counts.some((count) => count !== 0)),
    );
  const ofDate = (row: Row) => String(row["stayDate"]);
  const byApi = byDate(await insightItems(service, "movements", asked), ofDate);
  const csv = await askInsight(service, "movements", asked, { headers: { accept: "text/csv" } });
  assert.deepEqual(byDate(rowsOfCsv(csv.text.replaceAll("\r\n", "\n")), ofDate), byApi);
  const page = await session.read<{ items: Row[] }>(`insight/movements?${new URLSearchParams(asked)}`);
  assert.deepEqual(byDate(page.items, ofDate), byApi);
  const document = await readFile(new URL("../../docs/analytics.md", import.meta.url), "utf8");
  const [, , sql = ""] =
    /Arrivals, departures, stay-throughs([\s\S]*?)```sql\n([\s\S]*?);\n```/.exec(document) ?? [];
  const asText = sql
    .replaceAll("'PARIS01'", "'WALK01'")
    .replace("select stay_date, extract", "select stay_date::text as night, extract");
  const { rows } = await service.pool.query<Row>(asText);
  assert.deepEqual(
    byDate(rows, (row) => String(row["night"]), inSnakeCase),
    byApi,
  );
  assert.ok(Object.keys(byApi).length > 25);
});
