import assert from "node:assert/strict";
import { describe } from "node:test";
import type { Page } from "playwright-core";
import { addDays } from "#contract/dates.ts";
import type { DailyReportItem } from "../../src/console/api-types.ts";
import { refreshFigures } from "../../src/insight/property-figures.ts";
import { apply, reservation } from "../support/read-fixture.ts";
import { violationsOf } from "./axe.ts";
import type { ConsoleFixture } from "./console-fixture.ts";
import { readFigure, rowsOf } from "./shown.ts";

const CODES = "clientCode=ACME&propertyCode=PARIS01";
const STAY_NIGHTS = 3;
const MEMBERS = { Rooms: "rooms", ADR: "adr", "Room revenue, EUR": "roomRevenue" } as const;

type Figures = Pick<DailyReportItem, "stayDate" | "rooms" | "adr" | "roomRevenue">;

/** A hotel with a stay on some of the nights, in the currency of the first hotel. */
function staysOf(today: string) {
  return [0, 8, 20].map((day, place) => {
    const arrival = addDays(today, day);
    const rates = [{ startDate: arrival, endDate: addDays(arrival, STAY_NIGHTS - 1), rateValue: "100.50" }];
    return reservation(`SIDE-${place}`, `${today}T00:00:00Z`, {
      propertyCode: "SIDE01",
      roomStays: [
        {
          ...{ arrivalDate: arrival, departureDate: addDays(arrival, STAY_NIGHTS), roomTypeCode: "STD" },
          ...{ currencyCode: "EUR", rates },
        },
      ],
    });
  });
}

/** Each row has both sides and the first less the second; unknown where one of them is. */
async function assertSides(
  page: Page,
  names: readonly [string, string, string],
  sides: readonly (readonly [Figures, Figures | undefined])[],
): Promise<void> {
  const rows = await rowsOf(page.getByRole("table", { name: /the total first$/ }));
  assert.equal(rows.length, sides.length);
  for (const [place, { cells, head }] of rows.entries())
    for (const [title, member] of Object.entries(MEMBERS)) {
      const [one = null, other = null] = (sides[place] ?? []).map((side) => side?.[member] ?? null);
      const difference = one === null || other === null ? null : Number(one) - Number(other);
      for (const [at, value] of [one, other, difference].entries()) {
        const shown = readFigure(cells[`${title}, ${names[at]}`] ?? "");
        const where = `${head} ${title} ${names[at]}: ${shown} for ${value}`;
        assert.equal(shown === null, value === null, where);
        // Revenue is in whole units.
        const digits = member === "roomRevenue" ? 0.5 : 0;
        assert.ok(Math.abs(Number(shown) - Number(value)) <= digits + 1e-6, where);
      }
    }
}

export const describeSideBySide = ({ service, hotel, inWindow, visit }: ConsoleFixture) =>
  describe("side by side", () => {
    inWindow(
      "two hotels, and two years, have the figures of the API, and a link has them too",
      async (page) => {
        const { today } = hotel();
        await apply(service(), "reservations", staysOf(today));
        const reportOf = async (propertyCode: string, sum: string) => {
          const nights = { from: today, to: addDays(today, 29), sum, limit: "1000" };
          const query = new URLSearchParams({ clientCode: "ACME", propertyCode, ...nights });
          const answer = await page.request.get(
            `${service().address}/console/api/insight/daily-report?${query}`,
          );
          return (await answer.json()) as Record<"items" | "totals", DailyReportItem[]>;
        };
        const sidesOf = async (sum: string) => {
          const [own, other] = [await reportOf("PARIS01", sum), await reportOf("SIDE01", sum)];
          const of = (name: "items" | "totals") =>
            own[name].map(
              (item) => [item, other[name].find(({ stayDate }) => stayDate === item.stayDate)] as const,
            );
          return [...of("totals"), ...of("items")];
        };
        await visit(page, `/property/report?${CODES}&sum=week`);
        await page.getByLabel("Compare with").selectOption("another hotel …");
        await page.getByRole("combobox", { name: "Compare with another hotel" }).fill("SIDE01");
        await page.getByRole("option", { name: /SIDE01/ }).click();
        await page.waitForURL(/sum=week&beside=ACME%2FSIDE01$/);
        await page.getByRole("table", { name: /^PARIS01 and SIDE01 by week/ }).waitFor();
        const hotels = ["PARIS01", "SIDE01", "Diff."] as const;
        await assertSides(page, hotels, await sidesOf("week"));

        await visit(page, `/property/report?${CODES}&range=next30&beside=ACME%2FSIDE01`);
        const nights = await sidesOf("none");
        await assertSides(page, hotels, nights);
        assert.ok(nights.some(([, other]) => other === undefined));
        assert.deepEqual(await violationsOf(page), []);

        await visit(page, `/property/report?${CODES}&beside=lastYear`);
        const years = nights.map(([now]) => {
          const { lastYearRooms, lastYearAdr, lastYearRoomRevenue } = now;
          const then = { ...now, adr: lastYearAdr, roomRevenue: lastYearRoomRevenue };
          return [now, lastYearRooms === null ? undefined : { ...then, rooms: lastYearRooms }] as const;
        });
        await assertSides(page, ["This year", "Last year", "Change"], years);

        await refreshFigures(service().pool);
        await visit(page, "/");
        for (const name of ["PARIS01", "SIDE01"])
          await page.getByRole("checkbox", { name: `Select ACME / ${name}` }).check();
        const bar = page.getByRole("region", { name: "Selected hotels" });
        await bar.getByText("2 hotels selected").waitFor();
        assert.deepEqual(await violationsOf(page), []);
        await bar.getByRole("link", { name: "Daily report" }).click();
        await page.waitForURL(/report\?hotels=ACME%2FPARIS01%2CACME%2FSIDE01&range=next30$/);
        const rooms = page.locator('tr.total td[data-head="Rooms"]').first();
        const [own, other] = nights[0] ?? [];
        assert.equal(readFigure(await rooms.innerText()), Number(own?.rooms) + Number(other?.rooms));
        await page.getByRole("link", { name: "Side by side" }).click();
        await page.getByRole("table", { name: /^PARIS01 and SIDE01 by night/ }).waitFor();
        const cell = page.locator('tbody tr:not(.total) td[data-head="Rooms, SIDE01"]').first();
        await cell.getByRole("link").click();
        await page.waitForURL(/property\/on-the-books\?.*propertyCode=SIDE01.*night=/);
      },
    );
  });
