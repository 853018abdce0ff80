import assert from "node:assert/strict";
import { describe } from "node:test";
import type { Page } from "playwright-core";
import { consoleFixture } from "./console-fixture.ts";

const { hotel, inWindow, visit } = consoleFixture();

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

  inWindow("adds pickup up by day and by night", async (page) => {
    await visit(page, "/property/pickup?clientCode=ACME&propertyCode=PARIS01");
    await page.locator(".heat tfoot").waitFor();
    const rows = await page.locator(".heat :is(tbody, tfoot) tr").all();
    const numbers = await Promise.all(
      rows.map(async (row) =>
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
  });

  inWindow("opens a night that does not reconcile down to its records", async (page) => {
    await visit(page, "/property/reconciliation?clientCode=ACME&propertyCode=PARIS01");
    await page.locator("main tbody a").first().click();
    await page.waitForURL(/night=/);
    await page.getByRole("table", { name: /What may explain/ }).waitFor();
    await page.getByText(/reservations? with this night/).click();
    await page.getByRole("table", { name: "Reservations with this night" }).getByRole("link").first().click();
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

/** Whether the chart has more in it than its ground. */
function isDrawn(page: Page): Promise<boolean> {
  return page.evaluate<boolean>(`(() => {
    const canvas = document.querySelector(".plot canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size > 5;
  })()`);
}
