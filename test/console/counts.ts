import assert from "node:assert/strict";
import { describe } from "node:test";
import type { Page } from "playwright-core";
import { addDays } from "#contract/dates.ts";
import type { BackfillAnswer } from "../../src/backfill/console-answers.ts";
import type { CertificationAnswer } from "../../src/certification/console-answers.ts";
import type { QuarantinePageAnswer, RequestAnswer, RequestItem } from "../../src/query/console/answers.ts";
import type { ConsoleFixture } from "./console-fixture.ts";
import { figuresOf, readFigure, rowsOf } from "./shown.ts";

const CODES = "clientCode=ACME&propertyCode=PARIS01";
const YEAR_DAYS = 364;

interface Booked {
  readonly marketSegment: string | null;
  readonly rooms: number;
  readonly roomRevenue: string | null;
}

interface Feed {
  readonly resource: string;
  readonly batches: number;
  readonly records: number;
  readonly rejectionRate: string | null;
  readonly warningRate: string | null;
  readonly quarantined: number;
}

/** What `figures.ts` does for the insights, for the pages that count what came. */
export const describeCounts = ({ service, hotel, inWindow, visit }: ConsoleFixture) =>
  describe("counts of the console, against what the API answers", () => {
    const ask = async <Answer>(page: Page, question: string): Promise<Answer> =>
      (await (await page.request.get(`${service().address}/console/api/${question}`)).json()) as Answer;
    const cents = (text: string | null) => Math.round(Number(text ?? 0) * 100);
    const shownCents = (text: string | undefined) => Math.round((readFigure(text ?? "") ?? 0) * 100);

    inWindow("a night by group, this year and last, to the cent", async (page) => {
      const night = hotel().wrongNight;
      const before = addDays(night, -YEAR_DAYS);
      await visit(page, `/property/on-the-books?${CODES}&night=${night}&by=marketSegment`);
      const table = page.getByRole("table", { name: /Rooms of the night by market segment/ });
      await table.getByText("Revenue last year").waitFor();
      const books = async (of: string, more = "") => {
        const question = `insight/on-the-books?${CODES}&from=${of}&to=${of}&by=marketSegment${more}`;
        const { items } = await ask<{ items: Booked[] }>(page, question);
        return new Map(items.map((item) => [item.marketSegment ?? "none", item]));
      };
      const compared = `insight/on-the-books?${CODES}&from=${night}&to=${night}&compare=lastYear`;
      const { lastYearAsOf: asOf } = await ask<{ lastYearAsOf: string }>(page, compared);
      const now = await books(night);
      const then = await books(before, `&asOf=${asOf}`);
      const rows = await rowsOf(table);
      assert.deepEqual(
        new Set(rows.map(({ head }) => head)),
        new Set([...now, ...then].flatMap(([name, { rooms }]) => (rooms === 0 ? [] : [name]))),
      );
      for (const { head, cells } of rows) {
        const [own, last] = [now.get(head), then.get(head)];
        const [rooms, lastRooms] = [own?.rooms ?? 0, last?.rooms ?? 0];
        const [revenue, lastRevenue] = [cents(own?.roomRevenue ?? null), cents(last?.roomRevenue ?? null)];
        assert.deepEqual(
          ["Rooms", "Last year", "Change"].map((name) => readFigure(cells[name] ?? "")),
          [rooms, lastRooms, rooms - lastRooms],
        );
        assert.deepEqual(
          ["Room revenue, EUR", "Revenue last year", "Change of revenue"].map((name) =>
            shownCents(cells[name]),
          ),
          [revenue, lastRevenue, revenue - lastRevenue],
        );
      }
    });

    inWindow("the feeds of a property", async (page) => {
      await visit(page, `/property/calendar?${CODES}`);
      const rows = await rowsOf(page.getByRole("table", { name: "Feeds of this property" }));
      const { items } = await ask<{ items: Feed[] }>(page, `insight/feed-health?${CODES}`);
      // What is less than a tenth of a per cent is written as "< 0.1 %".
      const percent = (rate: string | null) =>
        rate === null ? null : Math.max(Math.ceil(Number(rate)) / 10, Math.round(Number(rate) * 1000) / 10);
      const heads = ["Batches", "Records", "Rejected", "With warnings", "Quarantined"];
      assert.deepEqual(
        rows.map(({ head, cells }) => [head, ...heads.map((name) => readFigure(cells[name] ?? ""))]),
        items.map(({ resource, batches, records, rejectionRate, warningRate, quarantined }) => [
          resource,
          batches,
          records,
          percent(rejectionRate),
          percent(warningRate),
          quarantined,
        ]),
      );
    });

    inWindow("requests, and the records of one by outcome", async (page) => {
      await visit(page, "/requests?outcome=failed");
      const rows = await rowsOf(page.locator("main table"));
      const { items } = await ask<{ items: RequestItem[] }>(page, "requests?outcome=failed&limit=50");
      const outcome = ({ rejected, quarantined, discarded, warned }: RequestItem["counts"]) =>
        [rejected, quarantined, discarded, warned].filter((count) => count > 0);
      assert.deepEqual(
        rows.map(({ cells }) => [readFigure(cells["Records"] ?? ""), numbersIn(cells["Outcome"] ?? "")]),
        items.map(({ counts }) => [counts.records, outcome(counts)]),
      );
      const { lenientRequestId } = hotel();
      await visit(page, `/requests/${lenientRequestId}?records=all`);
      const { counts, records } = await ask<RequestAnswer>(
        page,
        `requests/${lenientRequestId}?records=all&limit=100`,
      );
      const line = await page.locator(".section-head", { hasText: "Records" }).locator("p").innerText();
      assert.deepEqual(numbersIn(line), [
        counts.records,
        ...[counts.applied, counts.rejected].filter((count) => count > 0),
      ]);
      assert.equal((await rowsOf(page.getByRole("table", { name: /Records of/ }))).length, records.length);
    });

    inWindow("quarantined records by reason and property", async (page) => {
      await visit(page, "/quarantine");
      const reasons = await rowsOf(page.getByRole("table", { name: /^Reasons/ }));
      const { groups, items } = await ask<QuarantinePageAnswer>(page, "quarantine?limit=50");
      assert.deepEqual(
        reasons.map(({ cells }) => readFigure(cells["Records"] ?? "")),
        groups.map(({ records }) => records),
      );
      const listed = await rowsOf(page.getByRole("table", { name: /^Records in quarantine/ }));
      assert.equal(listed.length, items.length);
    });

    inWindow("what came of a backfill, and what a certification has shown", async (page) => {
      const { backfillId, certificationId } = hotel();
      await visit(page, `/backfills/${backfillId}`);
      const { resources } = await ask<BackfillAnswer>(page, `backfills/${backfillId}`);
      const heads = ["Different records", "Dates covered", "Batches", "Records", "Duplicate", "Failed"];
      assert.deepEqual(
        (await rowsOf(page.getByRole("table", { name: /^Received records/ }))).map(({ cells }) =>
          heads.map((head) => numbersIn(cells[head] ?? "")),
        ),
        resources.map(({ counts, ...of }) => [
          [of.distinctRecords, ...(of.expectedRecords ? [of.expectedRecords] : [])],
          of.datesCovered === null ? [] : [of.datesCovered, ...(of.datesNamed ? [of.datesNamed] : [])],
          [of.batches],
          [counts.records],
          [counts.duplicate],
          [counts.rejected + counts.quarantined + counts.discarded],
        ]),
      );
      await visit(page, `/certifications/${certificationId}`);
      const { steps } = await ask<CertificationAnswer>(page, `certifications/${certificationId}`);
      const figures = await figuresOf(page.locator(".figures").first());
      const count = (result: string) => steps.filter((step) => step.result === result).length;
      assert.deepEqual(
        ["Checks passed", "Failed", "Not seen yet"].map((name) => numbersIn(figures.get(name)?.value ?? "")),
        [[count("pass"), steps.length], [count("fail")], [count("not-yet")]],
      );
    });
  });

const numbersIn = (text: string) => [...text.matchAll(/[0-9][0-9,]*/g)].map(([digits]) => readFigure(digits));
