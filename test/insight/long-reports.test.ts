import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { addDays } from "#contract/dates.ts";
import { updateClient } from "../../src/identity/client-admin.ts";
import { EVERYTHING, Scope } from "../../src/identity/scope.ts";
import { answerPortfolio, type PortfolioQuestion } from "../../src/insight/console/portfolio.ts";
import { KEPT_CURRENCIES_MAX, type KeptReport } from "../../src/insight/kept-report.ts";
import { buildPortfolioReport } from "../../src/insight/portfolio-report.ts";
import { type BooksSum, refreshFigures } from "../../src/insight/property-figures.ts";
import { type Queryable, withTransaction } from "../../src/platform/db/transaction.ts";
import { jsonInTurns } from "../../src/platform/http/json-in-turns.ts";
import { businessDayOf } from "../../src/settings/business-day.ts";
import { settingsOf } from "../../src/settings/property-settings.ts";
import { assertTurns } from "../support/assert-turns.ts";
import { apply, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const NIGHTS = { from: "2026-07-01", to: "2026-10-31" };
const NIGHT_COUNT = 123;

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const currenciesOf = (hotel: number) =>
  Array.from({ length: KEPT_CURRENCIES_MAX }, (_, at) => `${hotel}-${String(at).padStart(2, "0")}`);

/** A report of every night in every currency, with one room each. */
function reportOf(currencies: readonly string[]): KeptReport {
  const nights = Array.from({ length: NIGHT_COUNT }, (_, night) => currencies.map(() => night)).flat();
  return {
    ...NIGHTS,
    ...{ asOf: "2026-07-03T12:00:00.000Z", businessDay: "2026-07-03" },
    ...{ lastYearFrom: null, finalFrom: null, finalTo: "2026-07-02", pickups: [true, true, true, true] },
    ...{ currencies, nights, currency: nights.map((_, at) => at % currencies.length), isListed: 1 },
    ...{ base: null, baseThen: null, columns: { rooms: 1, roomRevenue: 1_000_000 } },
  };
}

/** Adds hotels of a client code with what is kept of each. */
async function addHotels(
  clientCode: string,
  count: number,
  kept: (hotel: number) => { readonly figures?: object; readonly report?: KeptReport },
): Promise<void> {
  for (let hotel = 0; hotel < count; hotel += 1) {
    const { figures = {}, report } = kept(hotel);
    const texts = [JSON.stringify(figures), report === undefined ? null : JSON.stringify(report)];
    await service.pool.query(
      `with hotel as (
        insert into bellhop.property (bucket, client_code, property_code, created_by) values (0, $1, $2, 'test') returning property_id)
      insert into bellhop.property_figures (bucket, property_id, computed_at, due_at, basis, figures, report)
      select 0, property_id, now(), now() + interval '1 day', '', $3, $4 from hotel`,
      [clientCode, String(hotel).padStart(5, "0"), ...texts],
    );
  }
}

const within = (clientCode: string) => new Scope([`${clientCode}/*`]);

test("no report is kept of a hotel whose nights have hundreds of currencies, also of those that are over", async () => {
  const codes = { clientCode: "ACME", propertyCode: "CURRENCIES" };
  const settings = await settingsOf(service.pool, codes.clientCode, codes.propertyCode);
  const departureDate = businessDayOf(new Date(), settings);
  const stay = { arrivalDate: addDays(departureDate, -1), departureDate, roomTypeCode: "STD" };
  await apply(
    service,
    "reservations",
    Array.from({ length: 300 }, (_, at) =>
      reservation(`R-${at}`, "2026-07-01T00:00:00Z", {
        ...codes,
        roomStays: [{ ...stay, currencyCode: `C${at}` }],
      }),
    ),
  );
  await refreshFigures(service.pool);
  const { missing, properties } = await buildPortfolioReport(service.pool, { within: within("ACME") });
  assert.deepEqual(
    missing.map(({ propertyCode, reason }) => [propertyCode, reason]),
    [["CURRENCIES", "noFigures"]],
  );
  assert.equal(properties, 0);
});

test("client codes take turns in having their figures computed", async () => {
  const codes = ["A1", "A2", "A3", "B1", "B2"];
  for (const code of codes)
    await service.pool.query(
      "insert into bellhop.property (bucket, client_code, property_code, created_by) values (0, $1, $2, 'test')",
      [`TURN-${code[0]}`, code],
    );
  await refreshFigures(service.pool);
  const { rows } = await service.pool.query<{ code: string }>(
    `select property_code as code from bellhop.property join bellhop.property_figures using (property_id)
    where client_code like 'TURN-%' order by computed_at`,
  );
  const order = rows.map(({ code }) => code);
  // Two of one client code never come before the first of another.
  assert.equal(order.length, codes.length);
  assert.deepEqual(
    order
      .slice(0, 2)
      .map((code) => code[0])
      .sort(),
    ["A", "B"],
  );
  assert.deepEqual(
    order
      .slice(2, 4)
      .map((code) => code[0])
      .sort(),
    ["A", "B"],
  );
});

test("kept reports are read some at a time, and added up in turns", async () => {
  const hotels = 200;
  await addHotels("MANY", hotels, () => ({ report: reportOf(currenciesOf(0)) }));
  let most = 0;
  const counting = {
    query: async (asked: Parameters<Queryable["query"]>[0]) => {
      const answer = await service.pool.query(asked);
      most = Math.max(most, answer.rows.filter((row) => "report" in row).length);
      return answer;
    },
  } as unknown as Queryable;
  const question = { within: within("MANY"), nights: NIGHTS, sum: "month" } as const;
  await assertTurns(async () => {
    const { items, totals, properties } = await buildPortfolioReport(counting, question);
    assert.equal(properties, hotels);
    assert.equal(items.length, 4 * KEPT_CURRENCIES_MAX);
    assert.deepEqual(
      totals.map(({ rooms, properties: of }) => [rooms, of]),
      totals.map(() => [NIGHT_COUNT * hotels, hotels]),
    );
  });
  assert.ok(most <= 50, `${most} reports`);
});

test("a report with too many items is refused before they are added up", async () => {
  await addHotels("LARGE", 10, (hotel) => ({ report: reportOf(currenciesOf(hotel)) }));
  const ask = (sum: "none" | "total" | "property") =>
    buildPortfolioReport(service.pool, { within: within("LARGE"), nights: NIGHTS, sum });
  await assert.rejects(ask("none"), { code: "bellhop.insight.TooLarge" });
  for (const sum of ["total", "property"] as const) {
    const { items } = await ask(sum);
    assert.equal(items.length, 10 * KEPT_CURRENCIES_MAX);
  }
});

test("the portfolio's totals of thousands of hotels in many currencies are added up in turns", async () => {
  const books: BooksSum = {
    ...{ rooms: 320, basedRooms: 320, base: 400, unmappedRooms: 0 },
    amounts: currenciesOf(0).map((currency) => ({
      ...{ currency, rooms: 10, revenue: "1234.56", basedRevenue: "1234.56" },
      ...{ dayUseRevenue: "1.10", feeRevenue: "2.20", outsideStayRevenue: "3.30" },
    })),
  };
  const pickedUp = {
    rooms: 1,
    amounts: currenciesOf(0).map((currency) => ({ currency, revenue: "10.10" })),
  };
  const year = { books, pickup: { day: pickedUp, week: pickedUp } };
  const range = { ...year, lastYear: year, variance: { nights: 0, rooms: 0 } };
  await addHotels("TOTALS", 2_000, () => ({ figures: { ranges: { 7: range } } }));
  const question: PortfolioQuestion = {
    ...{ within: new Scope([EVERYTHING]), clientCodes: ["TOTALS"] },
    ...{ search: undefined, city: undefined, attention: undefined },
    ...{ nights: 7, sort: "name", isDescending: false },
  };
  await assertTurns(async () => {
    const { totals } = await answerPortfolio(service.pool, question, 0, 10);
    assert.deepEqual(
      totals.map(({ properties, now }) => [properties, now.amounts[0]?.roomRevenue]),
      totals.map(() => [2_000, "2469120.00"]),
    );
    assert.equal(totals.length, KEPT_CURRENCIES_MAX);
  });
});

test("an answer of thousands of items is written as JSON in turns", async () => {
  const item = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`field${at}`, `${at}.00`]));
  const answer = {
    ...{ items: Array.from({ length: 20_000 }, () => item), none: [], left: undefined },
    ...{ 'a"b': [undefined, null, { c: [1] }], text: "é" },
  };
  let text = "";
  await assertTurns(async () => {
    text = await jsonInTurns(answer);
  });
  assert.equal(text, JSON.stringify(answer));
});

test("a report that waited for its client's turn is of what is granted by then", async () => {
  await addHotels("GRANTED", 1, () => ({ report: reportOf(["EUR"]) }));
  const as = await service.newClient({ grants: [{ clientCode: "GRANTED", propertyCode: "*" }] });
  const ask = () => service.get("/api/insight/v1/portfolio-report?hotels=GRANTED/00000", { as });
  const { first, second } = await withTransaction(service.pool, async (client) => {
    await client.query("lock table bellhop.property_figures in access exclusive mode");
    const asked = { first: ask() };
    await until(async () => {
      const { rows } = await service.pool.query("select from pg_locks where not granted");
      return rows.length > 0;
    }, 20_000);
    const waiting = { ...asked, second: ask() };
    // Answered after the second has come.
    assert.equal((await service.get("/api/public/v1/requests", { as })).status, 200);
    const grants = [{ clientCode: "OTHER", propertyCode: "*" }];
    const { authenticator } = service.service;
    await updateClient({ internals: authenticator.internals, who: "cli:test" }, as.clientId, { grants });
    await authenticator.renew();
    return waiting;
  });
  assert.equal((await first).status, 200);
  assert.equal((await second).status, 403);
});
