import assert from "node:assert/strict";
import { describe } from "node:test";
import type { Page } from "playwright-core";
import { refreshFigures } from "../../src/insight/property-figures.ts";
import { violationsOf } from "./axe.ts";
import type { ConsoleFixture } from "./console-fixture.ts";

export const describeInsights = ({ service, hotel, inWindow, visit }: ConsoleFixture) =>
  describe("the insights of a property in the console", () => {
    inWindow("reads the pace curve by pointer and by keys", async (page) => {
      await visit(
        page,
        `/property/pace?clientCode=ACME&propertyCode=PARIS01&from=${hotel().wrongNight}&to=${hotel().wrongNight}`,
      );
      const curve = page.getByRole("slider");
      await curve.focus();
      await page.keyboard.press("Home");
      const first = await curve.getAttribute("aria-valuetext");
      await page.keyboard.press("End");
      const last = await curve.getAttribute("aria-valuetext");
      assert.match(first ?? "", /days before each night: On the books/);
      assert.notEqual(first, last);
      assert.ok(await isDrawn(page), "the canvas has more than one colour");
    });

    inWindow(
      "shows revenue beside last year, as the address says, and as exactly as the table",
      async (page) => {
        await visit(page, "/property/on-the-books?clientCode=ACME&propertyCode=PARIS01");
        const said = page.locator(".chart-words");
        await said.getByText(/Same time last year [0-9]+ rooms/).waitFor();
        await page.getByText("Revenue", { exact: true }).click();
        await page.waitForURL(/show=revenue/);
        const revenue = await page
          .getByRole("table")
          .locator("tbody tr:not(.total) td[data-head='Room revenue']")
          .first()
          .innerText();
        assert.match(revenue, /^[0-9,]+\.[0-9]{2}$/);
        await said.getByText(`On the books ${revenue} EUR`).waitFor();
        await visit(page, "/property/pace?clientCode=ACME&propertyCode=PARIS01&show=revenue");
        await said.getByText(/Same time last year [0-9,.]+ EUR/).waitFor();
        await page.goBack();
        await said.getByText(`On the books ${revenue} EUR`).waitFor();
      },
    );

    inWindow("draws no night whose rows go on behind those that it has, nor last year's", async (page) => {
      // As where there are more than a thousand.
      await page.route(/insight\/on-the-books\?/, (route) =>
        route.continue({ url: route.request().url().replace("limit=1000", "limit=5") }),
      );
      await visit(page, "/property/on-the-books?clientCode=ACME&propertyCode=PARIS01");
      await page
        .locator(".chart-words")
        .getByText(/Same time last year/)
        .waitFor();
      const chart = page.getByRole("slider");
      await chart.focus();
      await page.keyboard.press("Home");
      assert.match((await chart.getAttribute("aria-valuetext")) ?? "", /On the books [0-9]+ rooms?/);
      await page.keyboard.press("End");
      assert.match(
        (await chart.getAttribute("aria-valuetext")) ?? "",
        /On the books not known, Same time last year not known/,
      );
    });

    inWindow("answers why a night is down on last year in two clicks from its property", async (page) => {
      await visit(page, "/property?clientCode=ACME&propertyCode=PARIS01");
      const figures = page.locator(".figures").first();
      await figures.getByText(/on [0-9,]+ last year/).waitFor();
      const from = hotel().today;
      const answer = await page.request.get(
        `${new URL(page.url()).origin}/console/api/insight/on-the-books?clientCode=ACME&propertyCode=PARIS01&from=${from}&to=${dayAfter(from, 29)}&limit=1000`,
      );
      const { items } = (await answer.json()) as {
        items: { stayDate: string; rooms: number; roomRevenue: string | null }[];
      };
      const rooms = items.reduce((sum, item) => sum + item.rooms, 0);
      const cents = items.reduce((sum, item) => sum + Math.round(Number(item.roomRevenue ?? 0) * 100), 0);
      const written = await figures.locator("dd:not(.note)").allInnerTexts();
      assert.equal(written[1], rooms.toLocaleString("en-GB"));
      assert.equal(centsOf(written[2] ?? ""), cents);

      const night = dayAfter(from, 4);
      const ofNight = items.filter(({ stayDate }) => stayDate === night);
      await page.locator(`a.night[href*="night=${night}"]`).click();
      const groups = page.getByRole("table", { name: /Rooms of the night by market segment/ });
      await groups.locator("tbody tr").first().waitFor();
      const parts = await groups.locator("tbody td[data-head=Rooms]").allInnerTexts();
      const sumOfNight = ofNight.reduce((sum, item) => sum + item.rooms, 0);
      assert.equal(
        parts.reduce((sum, text) => sum + Number(text), 0),
        sumOfNight,
      );
      // Last year comes apart.
      await groups.locator("thead").getByText("Last year", { exact: true }).waitFor();
      await page.getByText(new RegExp(`^${sumOfNight} rooms of [0-9]+ reservations`)).click();
      await page.getByRole("table", { name: /Reservations that make up/ }).waitFor();
    });

    inWindow("adds the groups of a pivot up to the nights, and the nights to the total", async (page) => {
      await visit(page, "/property/on-the-books?clientCode=ACME&propertyCode=PARIS01&by=marketSegment");
      const table = page.getByRole("table", { name: "Rooms by night and market segment" });
      await table.getByText("Change on last year").waitFor();
      const rows = await table.locator("tbody tr").all();
      const numbers = await Promise.all(
        rows.map(async (row) => (await row.locator("td").allInnerTexts()).map(numberOf)),
      );
      for (const [all, ...parts] of numbers)
        assert.equal(
          parts.reduce((sum, part) => sum + part, 0),
          all,
        );
      const [total = [], before = [], change = [], ...nights] = numbers;
      assert.deepEqual(
        total,
        total.map((_, at) => nights.reduce((sum, night) => sum + (night[at] ?? 0), 0)),
      );
      assert.deepEqual(
        change,
        total.map((one, at) => one - (before[at] ?? 0)),
      );
    });

    inWindow("says that nothing is known of last year, and that there is no such property", async (page) => {
      const from = dayAfter(hotel().today, -380);
      await visit(
        page,
        `/property/on-the-books?clientCode=ACME&propertyCode=PARIS01&from=${from}&to=${dayAfter(from, 3)}`,
      );
      await page
        .getByText(/last year is known from [A-Z]/)
        .first()
        .waitFor();
      assert.equal(await page.getByText(/on [0-9,.]+ last year/).count(), 0);
      assert.equal(await page.getByRole("columnheader", { name: "Last year" }).count(), 0);
      await visit(page, "/property/on-the-books?clientCode=ACME&propertyCode=NOPE");
      await page.getByText("There is no property ACME / NOPE").waitFor();
      await visit(page, "/property?clientCode=ACME&propertyCode=NOPE");
      await page.getByText("There is no property ACME / NOPE").waitFor();
    });

    inWindow("keeps the range from tab to tab, and an answer until the next one comes", async (page) => {
      const { wrongNight } = hotel();
      await visit(page, "/property/pickup?clientCode=ACME&propertyCode=PARIS01&days=7");
      const next = Promise.withResolvers<void>();
      await page.route(/insight\/pickup\?/, async (route) => {
        await next.promise;
        await route.continue();
      });
      await page.getByLabel(/^To night/).fill(wrongNight);
      await page.locator(".renewing").waitFor({ state: "attached" });
      const nights = page.locator(".heat thead th");
      assert.ok((await nights.count()) > 20, "the nights before are there");
      next.resolve();
      await page.locator(".renewing").waitFor({ state: "detached" });
      assert.equal(await nights.count(), 10 + 1, "ten nights and their sum");
      await page.getByRole("link", { name: "Reconciliation", exact: true }).click();
      await page.getByRole("heading", { name: "Causes" }).waitFor();
      assert.equal(await page.getByLabel(/^To night/).inputValue(), wrongNight);
      await page.getByRole("link", { name: "Overview", exact: true }).click();
      await page.getByRole("link", { name: "Pickup", exact: true }).click();
      await page.waitForURL(new RegExp(`/pickup\\?.*days=7.*to=${wrongNight}`));
    });

    inWindow("keeps the filters of a page under a name", async (page) => {
      for (const [path, view] of [
        ["/property/on-the-books?clientCode=ACME&propertyCode=PARIS01", "by=channel&show=revenue"],
        ["/requests?clientCode=ACME", "outcome=failed"],
      ] as const) {
        await visit(page, `${path}&${view}`);
        await page.getByText("Save this view").click();
        await page.getByLabel("Name of the view").fill("Every Monday");
        await page.getByRole("button", { name: "Save", exact: true }).click();
        assert.deepEqual(await violationsOf(page), []);
        await visit(page, path);
        await page.getByText("Saved views (1)").click();
        await page.getByRole("link", { name: "Every Monday" }).click();
        await page.waitForURL((url) => url.search.includes(view));
        await page.getByRole("button", { name: "Remove Every Monday" }).click();
        await page.getByText("Save this view").waitFor();
      }
    });

    inWindow("says what pickup shows, and of how much each colour is", async (page) => {
      await visit(page, "/property/pickup?clientCode=ACME&propertyCode=PARIS01&show=revenue");
      await page.getByText("Room revenue booked minus cancelled").waitFor();
      const [least = "", most = ""] = (await page.locator(".legend .steps").innerText()).split(/\s+/);
      assert.match(most, /^\+[0-9]/);
      assert.equal(least, most.replace("+", "−"));
    });

    inWindow("names a currency in the portfolio's rows only where there are several", async (page) => {
      await refreshFigures(service().pool);
      let currency: string | null = null;
      await page.route(/console\/api\/portfolio\?/, async (route) => {
        const { totals, ...rest } = (await (await route.fetch()).json()) as { totals: object[] };
        await route.fulfill({ json: { totals: [...totals, { ...totals[0], currency }], ...rest } });
      });
      const revenue = page.locator("tbody tr:not(.total) td[data-head=Revenue]").first();
      await visit(page, "/?nights=90");
      assert.doesNotMatch(await revenue.innerText(), /EUR/);
      currency = "USD";
      await page.reload();
      await revenue.getByText("EUR").waitFor();
    });

    inWindow("adds pickup up by day and by night", async (page) => {
      await visit(page, "/property/pickup?clientCode=ACME&propertyCode=PARIS01");
      await page.locator(".heat tfoot").waitFor();
      const ofRooms = await page.locator(".heat :is(tbody, tfoot) tr").all();
      const numbers = await Promise.all(
        ofRooms.map(async (row) =>
          (await row.locator("td").allInnerTexts()).map((text) => Number(text.replace("−", "-") || 0)),
        ),
      );
      const byDay = numbers.slice(0, -1).map((day) => day.at(-1) ?? 0);
      assert.deepEqual(
        (await page.locator(".figures dd:not(.note)").allInnerTexts()).map((text) =>
          Number(text.replace("−", "-")),
        ),
        [1, 3, 7].map((count) => byDay.slice(0, count).reduce((sum, rooms) => sum + rooms, 0)),
      );
      const byNight = numbers.pop() ?? [];
      assert.deepEqual(
        byNight,
        byNight.map((_, night) => numbers.reduce((sum, day) => sum + (day[night] ?? 0), 0)),
      );
      assert.ok(byNight.at(-1) !== 0, "nothing was picked up");
      for (const day of numbers)
        assert.equal(
          day.at(-1),
          day.slice(0, -1).reduce((sum, rooms) => sum + rooms, 0),
        );

      await page.getByText("Revenue", { exact: true }).click();
      await page.waitForURL(/show=revenue/);
      await page.locator(".heat[data-of=revenue] tfoot tr").first().waitFor();
      const rows = await page.locator(".heat[data-of=revenue] :is(tbody, tfoot) tr").all();
      const cents = await Promise.all(
        rows.map(async (row) => ({
          parts: (await row.locator("td .unseen").allInnerTexts()).map(centsOf),
          sum: centsOf(await row.locator("td:last-child").innerText()),
        })),
      );
      for (const { parts, sum } of cents)
        assert.equal(
          parts.reduce((one, other) => one + other, 0),
          sum,
        );
      const total = cents.pop()?.sum ?? 0;
      assert.ok(total !== 0, "no revenue was picked up");
      assert.equal(
        cents.reduce((all, { sum }) => all + sum, 0),
        total,
      );
      assert.deepEqual(await violationsOf(page, "colours"), []);
      await page.getByText("View as table").click();
      const figures = page.getByRole("table", { name: "Pickup by day, night and currency" });
      await figures.locator("tbody td:nth-child(6)").first().waitFor();
      const exact = await figures.locator("tbody td:nth-child(6)").allInnerTexts();
      assert.equal(
        exact.map(centsOf).reduce((one, other) => one + other, 0),
        total,
      );
      await page.goBack();
      await page.locator(".heat[data-of=rooms]").waitFor();
    });

    inWindow("ranks the causes of a difference, and opens a night down to its records", async (page) => {
      await visit(page, "/property/reconciliation?clientCode=ACME&propertyCode=PARIS01");
      const causes = page.getByRole("table", { name: /What may explain/ });
      await causes.getByRole("button").first().click();
      await causes.getByRole("table", { name: /Candidates/ }).waitFor();
      assert.deepEqual(await violationsOf(page), []);
      const rooms = await causes
        .locator(":scope > tbody > tr:not(.opened-row) > td:nth-child(2)")
        .allInnerTexts();
      assert.ok(rooms.length > 0 && rooms.length <= 3, String(rooms));
      assert.deepEqual(
        rooms.map((text) => Number.parseInt(text, 10)),
        rooms.map((text) => Number.parseInt(text, 10)).toSorted((one, other) => other - one),
      );
      assert.ok(Number.parseInt(rooms[0] ?? "", 10) > 0);
      const nights = page.getByRole("table", { name: "Reported and rebuilt rooms by night" });
      await nights.getByRole("button").first().click();
      await nights.getByText(/reservations? with this night/).click();
      await nights
        .getByRole("table", { name: "Reservations with this night" })
        .getByRole("link")
        .first()
        .click();
      await page.getByText("First known version.").waitFor();
    });

    inWindow("sums a group over its nights, which it opens", async (page) => {
      await visit(page, "/property/blocks?clientCode=ACME&propertyCode=PARIS01");
      const groups = page.getByRole("table", { name: "Groups, the most at risk first" });
      const cells = groups.locator(":scope > tbody > tr:not(.opened-row) > *");
      await cells.first().waitFor();
      const [name, , , , ...figures] = await cells.allInnerTexts();
      assert.match(name ?? "", /Cardiology congress\s+CARDIO26/);
      assert.deepEqual(
        figures.slice(0, 4).map((text) => text.trim()),
        ["36", "15", "41.7 %", "21"],
      );
      await groups.getByRole("button").click();
      const nights = groups.getByRole("table", { name: "Nights of CARDIO26" }).locator("tbody tr");
      await nights.first().waitFor();
      const blocked = await nights.locator("td:nth-child(2)").allInnerTexts();
      assert.deepEqual(blocked, ["12", "12", "12"]);
      assert.deepEqual(await violationsOf(page), []);
    });

    inWindow("names the group first that has the most rooms left per day to its cutoff", async (page) => {
      await page.route(/insight\/blocks\?/, async (route) => {
        const answer = await route.fetch();
        const { items, ...rest } = (await answer.json()) as { items: object[] };
        const late = { group: "LATE26", name: null, cutoffDate: "2020-01-01", remaining: 1 };
        await route.fulfill({
          json: { ...rest, items: [...items, ...items.map((item) => ({ ...item, ...late }))] },
        });
      });
      await visit(page, "/property/blocks?clientCode=ACME&propertyCode=PARIS01");
      const rows = page.getByRole("table", { name: "Groups, the most at risk first" }).locator("tbody tr");
      await rows.first().waitFor();
      assert.deepEqual(
        (await rows.locator("th").allInnerTexts()).map((text) => text.trim().split(/\s/).at(-1)),
        ["LATE26", "CARDIO26"],
      );
      assert.match(await rows.first().innerText(), /[0-9]+ days? past/);
    });

    inWindow("sees no last year's figure where nothing is known of it", async (page) => {
      await page.route(/insight\/pace\?/, async (route) => {
        const answer = await route.fetch();
        const { items, ...rest } = (await answer.json()) as { items: object[] };
        const unknown = items.map((item) => ({ ...item, lastYearRooms: null, lastYearRoomRevenue: null }));
        await route.fulfill({ json: { ...rest, items: unknown, lastYearKnownFrom: "2025-10-05" } });
      });
      await visit(page, "/property/pace?clientCode=ACME&propertyCode=PARIS01");
      await page.getByText("last year is known from Sun 5 Oct 2025").first().waitFor();
      assert.equal(
        await page
          .locator(".figures > div", { hasText: "Pace vs last year" })
          .locator("dd")
          .first()
          .innerText(),
        "–",
      );
      await page.getByText("View as table").click();
      const before = page.locator("td[data-head='Rooms last year']");
      await before.first().waitFor();
      assert.deepEqual(new Set(await before.allInnerTexts()), new Set(["–"]));
    });

    inWindow("sees the nights that inventory left out", async (page) => {
      await visit(page, "/property/calendar?clientCode=ACME&propertyCode=PARIS01");
      assert.equal(
        await page.locator(".night[data-state=missing] .unseen").count(),
        hotel().missingNights.length,
      );
    });
  });

function dayAfter(date: string, days: number): string {
  return new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10);
}

const numberOf = (text: string) => Number(text.replace("−", "-").replaceAll(",", ""));

/** `−1,234.50` in cents; what has no price is nothing. */
function centsOf(text: string): number {
  return text === "–" ? 0 : Math.round(Number(text.replace("−", "-").replaceAll(",", "")) * 100);
}

/** Whether the chart has more in it than its ground. */
function isDrawn(page: Page): Promise<boolean> {
  return page.evaluate<boolean>(`(() => {
    const canvas = document.querySelector(".plot canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size > 5;
  })()`);
}
