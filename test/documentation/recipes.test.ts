import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { untilApplied } from "../manual/service-of-a-page.ts";
import { startTestService, type TestService } from "../support/service.ts";

const PAGE = readFileSync(new URL("../../docs/guides/recipes.md", import.meta.url), "utf8");
const RECIPES = PAGE.split(/^## /m).slice(1);
const ALSO = ["dayUseRooms", "dayUseRevenue", "feeRevenue", "outsideStayRevenue"];

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

function resourceOf(record: Record<string, unknown>): string {
  if ("reservationId" in record) return "reservations";
  return "groupCode" in record ? "groups" : "inventories";
}

/** The rows of a recipe's table, as insight has them. */
async function booksOf(propertyCode: string): Promise<string[]> {
  const asked = new URLSearchParams({
    clientCode: "ACME",
    propertyCode,
    from: "2027-03-01",
    to: "2027-03-31",
    by: "roomType",
  });
  const answer = await service.get(`/api/insight/v1/on-the-books?${asked}`);
  const items = answer.json()["items"] as Record<string, unknown>[];
  const isSome = (value: unknown) => value !== undefined && value !== null && value !== 0;
  return items
    .filter((item) => item["rooms"] !== 0 || ALSO.some((name) => isSome(item[name])))
    .map((item) => {
      const money = (value: unknown) => `${value} ${item["currency"]}`;
      const also = ALSO.filter((name) => isSome(item[name])).map(
        (name) => `${name} ${name.endsWith("Revenue") ? money(item[name]) : item[name]}`,
      );
      const revenue = item["roomRevenue"] === null ? "" : money(item["roomRevenue"]);
      return `| ${[item["stayDate"], item["roomType"], item["rooms"], revenue, also.join(", ")].join(" | ")} |`;
    });
}

for (const [at, recipe] of RECIPES.entries()) {
  const [title = ""] = recipe.split("\n", 1);
  test(`recipe: ${title}`, async () => {
    const propertyCode = `RECIPE${at}`;
    const batches = [...recipe.matchAll(/```json\n(.*?)```/gs)].map(
      ([, json = ""]) => JSON.parse(json) as Record<string, unknown>[],
    );
    assert.ok(batches.length > 0, "a recipe shows what to send");
    for (const batch of batches) {
      const records = batch.map((record) => ({ ...record, propertyCode }));
      const accepted = await service.post(resourceOf(batch[0] ?? {}), records);
      const { records: notable } = await untilApplied(service, accepted);
      const odd = notable.filter(({ outcome, warnings = [] }) => outcome !== "stale" || warnings.length > 0);
      assert.deepEqual(odd, []);
    }
    const rows = recipe.split("\n").filter((line) => /^\| \d{4}-/.test(line));
    assert.equal(rows.length === 0, recipe.includes("Nothing is on the books."));
    assert.deepEqual(await booksOf(propertyCode), rows);
  });
}

test("the recipe of a group's pickup leaves four rooms of each night", async () => {
  const propertyCode = `RECIPE${RECIPES.findIndex((recipe) => recipe.startsWith("Group pickup"))}`;
  const asked = new URLSearchParams({
    clientCode: "ACME",
    propertyCode,
    from: "2027-03-01",
    to: "2027-03-02",
  });
  const { items } = (await service.get(`/api/insight/v1/blocks?${asked}`)).json() as {
    items: Record<string, unknown>[];
  };
  assert.deepEqual(
    items.map(({ pickedUp, pickedUpRebuilt, remaining }) => [pickedUp, pickedUpRebuilt, remaining]),
    [
      [1, 1, 4],
      [1, 1, 4],
    ],
  );
});
