import assert from "node:assert/strict";
import { describe } from "node:test";
import type { Page } from "playwright-core";
import { violationsOf } from "./axe.ts";
import type { ConsoleFixture } from "./console-fixture.ts";

export const describeInsights = ({ hotel, inWindow, visit }: ConsoleFixture) =>
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
      assert.match(first ?? "", /before: On the books/);
      assert.notEqual(first, last);
      assert.ok(await isDrawn(page), "the canvas has more than one colour");
    });

    inWindow(
      "shows revenue beside last year, as the address says, and as exactly as the table",
      async (page) => {
        await visit(page, "/property?clientCode=ACME&propertyCode=PARIS01");
        const said = page.locator(".chart-words");
        await said.getByText(/Same time last year [0-9]+ rooms/).waitFor();
        await page.getByText("Revenue", { exact: true }).click();
        await page.waitForURL(/show=revenue/);
        const revenue = await page.getByRole("table").locator("tbody td:nth-child(5)").first().innerText();
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
      await visit(page, "/property?clientCode=ACME&propertyCode=PARIS01");
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

    inWindow("adds pickup up by day and by night", async (page) => {
      await visit(page, "/property/pickup?clientCode=ACME&propertyCode=PARIS01");
      await page.locator(".heat tfoot").waitFor();
      const ofRooms = await page.locator(".heat :is(tbody, tfoot) tr").all();
      const numbers = await Promise.all(
        ofRooms.map(async (row) =>
          (await row.locator("td").allInnerTexts()).map((text) => Number(text.replace("−", "-") || 0)),
        ),
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

    inWindow("opens a night that does not reconcile down to its records", async (page) => {
      await visit(page, "/property/reconciliation?clientCode=ACME&propertyCode=PARIS01");
      await page.locator("main tbody a").first().click();
      await page.waitForURL(/night=/);
      await page.getByRole("table", { name: /What may explain/ }).waitFor();
      await page.getByText(/reservations? with this night/).click();
      await page
        .getByRole("table", { name: "Reservations with this night" })
        .getByRole("link")
        .first()
        .click();
      await page.getByText("First known version.").waitFor();
    });

    inWindow("sees the nights that inventory left out", async (page) => {
      await visit(page, "/property/calendar?clientCode=ACME&propertyCode=PARIS01");
      assert.equal(
        await page.locator(".night[data-state=missing] .unseen").count(),
        hotel().missingNights.length,
      );
    });
  });

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
