import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { addMoney } from "../../packages/console/src/field/format.ts";
import type { PortfolioAnswer } from "../../src/console/answers.ts";
import { refreshFigures } from "../../src/insight/property-figures.ts";
import { addDays } from "../../src/insight/question.ts";
import { type ConsoleSession, logInAsNew } from "../support/console-session.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { fillHotel } from "./hotel.ts";

let service: TestService;
let session: ConsoleSession;
before(async () => {
  service = await startTestService();
  session = await logInAsNew(service, "anna");
  await fillHotel(service);
  await refreshFigures(service.pool);
});
after(() => service.stop());

interface Item {
  readonly stayDate: string;
  readonly rooms: number;
  readonly currency: string | null;
  readonly roomRevenue: string | null;
  readonly capacity: number | null;
  readonly difference: number | null;
}

for (const nights of [1, 7, 30, 90])
  test(`figures of ${nights} nights are the insights' to the cent`, async () => {
    const { items } = await session.read<PortfolioAnswer>(`portfolio?nights=${nights}`);
    assert.ok(items.length > 0);
    for (const { clientCode, propertyCode, day, asOf, now, lastYear, variance } of items) {
      const from = day ?? "";
      const read = async (insight: string, more: Record<string, string> = {}) => {
        const to = addDays(from, nights - 1);
        const query = new URLSearchParams({ clientCode, propertyCode, from, to, limit: "1000", ...more });
        return (await session.read<{ items: Item[] }>(`insight/${insight}?${query}`)).items;
      };
      const revenueOf = (those: readonly Item[]) =>
        Number(addMoney(those.flatMap(({ roomRevenue }) => roomRevenue ?? [])));
      const roomsOf = (those: readonly Item[]) => those.reduce((sum, { rooms }) => sum + rooms, 0);
      const shown = (amounts: readonly { readonly roomRevenue: string | null }[] = []) =>
        Number(addMoney(amounts.flatMap(({ roomRevenue }) => roomRevenue ?? [])));

      const books = await read("on-the-books");
      assert.equal(now?.rooms, roomsOf(books));
      assert.equal(shown(now?.amounts), revenueOf(books));
      const bases = new Map(
        books.flatMap(({ stayDate, capacity }) => (capacity ? [[stayDate, capacity]] : [])),
      );
      const base = [...bases.values()].reduce((sum, capacity) => sum + capacity, 0);
      const based = books.filter(({ stayDate }) => bases.has(stayDate));
      const ratio = (of: number, by: number, digits: number) =>
        by === 0 ? null : (Math.round(Math.round(of * 10 ** digits) / by) / 10 ** digits).toFixed(digits);
      assert.equal(now?.occupancy, ratio(roomsOf(based), base, 4));
      for (const { currency, adr, revpar } of now?.amounts ?? []) {
        if (currency === null) continue;
        const isPriced = (item: Item) => item.currency === currency;
        const priced = books.filter(isPriced);
        assert.equal(adr, ratio(revenueOf(priced), roomsOf(priced), 2));
        assert.equal(revpar, ratio(revenueOf(based.filter(isPriced)), base, 2));
      }
      for (const [since, days] of [
        ["day", 1],
        ["week", 7],
      ] as const) {
        const instant = new Date(Date.parse(asOf ?? "") - days * 86_400_000).toISOString();
        const pickup = await read("pickup", { since: instant });
        assert.equal(now?.pickup[since].rooms, roomsOf(pickup), since);
        assert.equal(shown(now?.pickup[since].amounts), revenueOf(pickup), since);
      }
      const differences = (await read("reconciliation")).map(({ difference }) => Math.abs(difference ?? 0));
      assert.equal(
        variance?.rooms,
        differences.reduce((sum, rooms) => sum + rooms, 0),
      );
      // Nobody knew the hotel's capacity then: nothing is shown, not 0.
      if (books.some(({ capacity }) => capacity !== null)) assert.equal(lastYear, null);
    }
  });

test("an operator sees the properties within the grants, and a total of each currency of those that match", async () => {
  const berta = await logInAsNew(service, "berta", { role: "viewer", grants: ["ACME/PARIS01"] });
  const { items, totals } = await berta.read<PortfolioAnswer>("portfolio?nights=90");
  assert.deepEqual(
    items.map(({ propertyCode }) => propertyCode),
    ["PARIS01"],
  );
  assert.deepEqual(
    totals.map(({ currency, now }) => [currency, now.amounts[0]?.roomRevenue]),
    items
      .flatMap(({ now }) => now?.amounts ?? [])
      .map(({ currency, roomRevenue }) => [currency, roomRevenue]),
  );
  assert.ok(totals.length === 1);
  const none = await berta.read<PortfolioAnswer>("portfolio?search=nowhere");
  assert.deepEqual([none.items, none.totals], [[], []]);
});
