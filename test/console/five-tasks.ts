import assert from "node:assert/strict";
import { describe } from "node:test";
import type { Page } from "playwright-core";
import { addDays } from "#contract/dates.ts";
import { refreshFigures } from "../../src/insight/property-figures.ts";
import { setSetting, unsetSetting } from "../../src/settings/change-setting.ts";
import type { ConsoleFixture } from "./console-fixture.ts";

const CLICKS_MAX = 4;
const YEAR_DAYS = 364;

/** Clicks of the pointer and choices in a list, across pages. */
const COUNT_CLICKS = `(() => {
  const count = () => sessionStorage.setItem("clicks", String(1 + Number(sessionStorage.getItem("clicks"))));
  addEventListener("click", ({ detail }) => detail > 0 && count(), true);
  addEventListener("change", ({ target }) => target.tagName === "SELECT" && count(), true);
})()`;

const CODES = "clientCode=ACME&propertyCode=PARIS01";

/** What a revenue manager asks in the morning, each answered in a few clicks from the landing page. */
export const describeFiveTasks = ({ service, hotel, inWindow, visit }: ConsoleFixture) =>
  describe("a revenue manager, from the landing page", () => {
    const inFewClicks = (name: string, answer: (page: Page) => Promise<void>) =>
      inWindow(name, async (page) => {
        await refreshFigures(service().pool);
        const counting = await page.addInitScript(COUNT_CLICKS);
        await visit(page, "/");
        await answer(page);
        await counting.dispose();
        const clicks = await page.evaluate<number>('Number(sessionStorage.getItem("clicks"))');
        assert.ok(clicks <= CLICKS_MAX, `${clicks} clicks`);
      });
    const ask = async <Item>(page: Page, question: string): Promise<Item[]> => {
      const address = `${service().address}/console/api/insight/${question}`;
      return ((await (await page.request.get(address)).json()) as { items: Item[] }).items;
    };

    inFewClicks("sees why next Saturday is down on last year", async (page) => {
      const saturday = nextSaturday(hotel().today);
      await page.getByRole("link", { name: "ACME / PARIS01" }).click();
      await page.locator(`a.night[href*="night=${saturday}"]`).click();
      const address = `insight/on-the-books?${CODES}&from=${saturday}&to=${saturday}&compare=lastYear`;
      const compared = await page.request.get(`${service().address}/console/api/${address}`);
      const { lastYearAsOf: asOf } = (await compared.json()) as { lastYearAsOf: string };
      const groups = page.getByRole("table", { name: /Rooms of the night by market segment/ });
      await groups.getByText("Last year", { exact: true }).waitFor();
      const rows = await groups.locator("tbody tr").all();
      const shown = await Promise.all(
        rows.map(async (row) => [
          await row.locator("th").innerText(),
          ...(await row.locator("td").allInnerTexts()).slice(0, 3).map(roomsIn),
        ]),
      );
      const rooms = async (night: string, more = "") =>
        new Map(
          (
            await ask<{ marketSegment: string | null; rooms: number }>(
              page,
              `on-the-books?${CODES}&from=${night}&to=${night}&by=marketSegment${more}`,
            )
          ).map((item) => [item.marketSegment ?? "none", item.rooms]),
        );
      const [now, before] = [
        await rooms(saturday),
        await rooms(addDays(saturday, -YEAR_DAYS), `&asOf=${asOf}`),
      ];
      assert.ok(shown.length > 1);
      assert.deepEqual(
        shown,
        shown.map(([name]) => {
          const [own = 0, last = 0] = [now.get(String(name)), before.get(String(name))];
          return [name, own, last, own - last];
        }),
      );
      const changes = shown.map(([, , , change]) => Math.abs(Number(change)));
      assert.deepEqual(
        changes,
        changes.toSorted((one, other) => other - one),
        "the largest change is first",
      );
    });

    inFewClicks("sees which group will not fill", async (page) => {
      await page.getByRole("link", { name: "ACME / PARIS01" }).click();
      await page.getByRole("link", { name: "Blocks" }).click();
      const groups = page.getByRole("table", { name: "Groups, the most at risk first" });
      await groups.getByRole("button").first().click();
      const blocks = await ask<{ group: string; remaining: number }>(
        page,
        `blocks?${CODES}&from=${hotel().today}&to=${addDays(hotel().today, 89)}`,
      );
      const first = groups.locator(":scope > tbody > tr").first();
      assert.match(await first.locator("th").innerText(), new RegExp(blocks[0]?.group ?? ""));
      assert.equal(
        roomsIn(await first.locator("td[data-head=Remaining]").innerText()),
        blocks.reduce((sum, { remaining }) => sum + remaining, 0),
      );
    });

    inFewClicks("sees which feed is silent", async (page) => {
      const of = { clientCode: "ACME", propertyCode: "PARIS01", name: "cadence.groups" };
      await setSetting(service().pool, of, "0.001");
      await page.reload();
      await page.getByLabel("Attention").selectOption("silent");
      await page
        .getByRole("row", { name: /PARIS01/ })
        .getByText("groups silent")
        .click();
      const feed = page
        .getByRole("table", { name: "Feeds of this property" })
        .getByRole("row", { name: /^groups/ });
      await feed.getByText("silent", { exact: true }).waitFor();
      await unsetSetting(service().pool, of);
    });

    inFewClicks("sees what came in since yesterday, and for which nights", async (page) => {
      const row = page.getByRole("row", { name: /PARIS01/ });
      const pickup = row.locator(`td[data-head="Pickup since yesterday's close"]`);
      const rooms = roomsIn((await pickup.innerText()).split("\n")[0] ?? "");
      await pickup.getByRole("link").click();
      await page.locator(".heat tbody tr").first().waitFor();
      const moved = await ask<{ rooms: number }>(
        page,
        `pickup?${CODES}&from=${hotel().today}&to=${addDays(hotel().today, 29)}&days=1`,
      );
      assert.equal(
        rooms,
        moved.reduce((sum, item) => sum + item.rooms, 0),
      );
      await page.locator(".heat thead").getByRole("link").first().click();
      await page.getByRole("table", { name: /Rooms of the night by market segment/ }).waitFor();
    });

    inFewClicks("sees why inventory and reservations disagree, down to a record", async (page) => {
      await page
        .getByRole("row", { name: /PARIS01/ })
        .getByRole("link", { name: /differ$/ })
        .click();
      const causes = page.getByRole("table", { name: /What may explain/ });
      await causes.getByRole("button").first().click();
      const candidates = causes.getByRole("table", { name: /Candidates/ });
      await candidates.getByRole("link").first().click();
      await page.getByText("First known version.").waitFor();
    });
  });

/** Behind today. */
function nextSaturday(today: string): string {
  const weekday = new Date(`${today}T00:00:00Z`).getUTCDay();
  return addDays(today, ((5 - weekday + 7) % 7) + 1);
}

const roomsIn = (text: string) => Number(text.replace("−", "-").replaceAll(/[^0-9-]/g, ""));
