import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { EVERYTHING, Scope } from "../../src/identity/scope.ts";
import { answerPortfolio, type PortfolioQuestion } from "../../src/insight/console/portfolio.ts";
import { dailyReport } from "../../src/insight/daily-report.ts";
import { onQueryContext } from "../../src/insight/query-context.ts";
import type { StayQuestion } from "../../src/insight/question.ts";
import type { Position } from "../../src/platform/http/position.ts";
import { findProperty, type Property } from "../../src/query/property.ts";
import { assertTurns } from "../support/assert-turns.ts";
import { apply, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";

const NIGHT = "2026-07-11";
const CURRENCIES = 2_500;
const PROPERTIES = 4_900;

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

test("a daily report in thousands of currencies is added up in turns", async () => {
  const roomStays = [{ arrivalDate: NIGHT, departureDate: "2026-07-12", roomTypeCode: "STD" }];
  await apply(
    service,
    "reservations",
    Array.from({ length: CURRENCIES }, (_, at) =>
      reservation(`R-${at}`, "2026-07-01T00:00:00Z", {
        propertyCode: "CURRENCIES",
        roomStays: roomStays.map((stay) => ({ ...stay, currencyCode: `C${at}` })),
      }),
    ),
  );
  const { pool } = service;
  const codes = { clientCode: "ACME", propertyCode: "CURRENCIES" };
  const property = (await findProperty(pool, codes.clientCode, codes.propertyCode)) as Property;
  const question: StayQuestion = {
    ...{ ...codes, property, from: NIGHT, to: NIGHT, by: "none", clock: "source", asOf: null },
  };
  const ask = (start: Position | null) =>
    onQueryContext(pool, question, (client, queryContext) =>
      dailyReport.answer({
        ...{ client, question, queryContext, start, limit: 10 },
        parameters: { ...codes, sum: "none" },
      }),
    );
  let items: readonly object[] = [];
  await assertTurns(async () => {
    const { answer } = await ask(null);
    if (typeof answer !== "function") items = answer.items;
  });
  assert.equal(items.length, 10);
});

test("a portfolio of thousands of properties is put together in turns", async () => {
  const { pool } = service;
  await pool.query(
    `insert into bellhop.property (bucket, client_code, property_code, created_by)
    select 0, 'MANY', 'Hotel ' || (at * 7919) % 99991, 'test' from generate_series(1, $1) as at`,
    [PROPERTIES],
  );
  const question: PortfolioQuestion = {
    ...{ within: new Scope([EVERYTHING]), search: "hotel", city: undefined, attention: undefined },
    ...{ nights: 7, sort: "name", isDescending: false },
  };
  let found = 0;
  await assertTurns(async () => {
    const { items, properties } = await answerPortfolio(pool, question, 0, 100);
    const names = items.map(({ propertyCode }) => Number(propertyCode.slice(6)));
    assert.deepEqual(
      names,
      names.toSorted((one, other) => one - other),
    );
    found = properties;
  });
  assert.equal(found, PROPERTIES);
});
