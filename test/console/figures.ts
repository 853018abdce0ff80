import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe } from "node:test";
import { read as readExcel, utils } from "@e965/xlsx";
import type { Locator, Page } from "playwright-core";
import { addDays, datesFrom } from "#contract/dates.ts";
import type { Resource } from "#contract/resource.ts";
import type { IntakeAnswer, PortfolioAnswer } from "../../src/insight/console/answers.ts";
import { refreshFigures } from "../../src/insight/property-figures.ts";
import type { ConsoleFixture } from "./console-fixture.ts";
import {
  type Element,
  figuresOf,
  readFigure,
  rowsOf,
  type Shown,
  type ShownFigure,
  type ShownRow,
} from "./shown.ts";

/** A row of an insight, with what the figures below are computed of. */
interface Item {
  readonly stayDate: string;
  readonly currency: string | null;
  readonly rooms: number;
  readonly roomRevenue: string | null;
  readonly capacity: number | null;
  readonly adults: number;
  readonly children: number;
  readonly blocksRemaining: number;
  readonly unmappedRooms: number;
  readonly [member: string]: string | number | null;
}

const NO_ROW: ShownRow = { head: "", kind: "", cells: {} };

const CODES = "clientCode=ACME&propertyCode=PARIS01";
const YEAR_DAYS = 364;

export const describeFigures = ({ service, hotel, inWindow, visit }: ConsoleFixture) =>
  describe("figures of the console, against what the API answers", () => {
    const ask = async <Answer>(page: Page, question: string): Promise<Answer> =>
      (await (await page.request.get(`${service().address}/console/api/${question}`)).json()) as Answer;
    const itemsOf = async (page: Page, insight: string, parameters: Record<string, string>) => {
      const query = new URLSearchParams({ limit: "10000", ...parameters });
      const answer = await ask<{ items: Item[]; nextCursor: null }>(
        page,
        `insight/${insight}?${CODES}&${query}`,
      );
      assert.equal(answer.nextCursor, null);
      return answer.items;
    };
    /** Books of some nights, and of the same weekdays last year at the same time. */
    const booksOf = async (page: Page, from: string, nights: number, by?: string) => {
      const more: Record<string, string> = by === undefined ? {} : { by };
      const to = addDays(from, nights - 1);
      const then = { from: addDays(from, -YEAR_DAYS), to: addDays(to, -YEAR_DAYS) };
      const compared = `insight/on-the-books?${CODES}&${new URLSearchParams({ from, to, compare: "lastYear" })}`;
      const { lastYearAsOf: asOf } = await ask<{ lastYearAsOf: string }>(page, compared);
      return {
        now: await itemsOf(page, "on-the-books", { from, to, ...more }),
        before: (await itemsOf(page, "on-the-books", { ...then, asOf, ...more })).map((item) => ({
          ...item,
          stayDate: addDays(item.stayDate, YEAR_DAYS),
        })),
      };
    };

    inWindow("a portfolio's rows are its answer, and a total of a currency their sum", async (page) => {
      await refreshFigures(service().pool);
      for (const nights of [1, 7, 30, 90]) {
        await visit(page, `/?nights=${nights}`);
        const table = page.getByRole("table", { name: /^Properties/ });
        const shown = await rowsOf(table);
        const hidden = await page
          .locator(".table-frame")
          .evaluate((frame: Element) => frame.scrollWidth - frame.clientWidth);
        assert.ok(hidden <= 0, `${hidden} pixels of the table are out of sight`);
        const { items, totals } = await ask<PortfolioAnswer>(page, `portfolio?nights=${nights}&limit=100`);
        assert.deepEqual(
          shown.map(({ kind }) => kind === "total"),
          [...totals.map(() => true), ...items.map(() => false)],
        );
        for (const [place, item] of [...totals, ...items].entries()) {
          const { cells } = shown[place] ?? NO_ROW;
          const [amount] = item.now?.amounts ?? [];
          const first = (head: string) => readFigure((cells[head] ?? "").split("\n")[0] ?? "");
          assert.equal(first("Occupancy"), percentOf(item.now?.occupancy));
          assert.equal(first("Rooms"), item.now?.rooms);
          assert.equal(first("Revenue"), numberOf(amount?.roomRevenue));
          assert.equal(first("ADR"), numberOf(amount?.adr));
          assert.equal(first("RevPAR"), numberOf(amount?.revpar));
          assert.equal(first("Pickup since yesterday's close"), item.now?.pickup.day.rooms);
          assert.equal(first("Pickup 7 days"), item.now?.pickup.week.rooms);
          if (item.lastYear !== null) {
            const change = Number(item.now?.rooms) - item.lastYear.rooms;
            assert.equal(first("vs last year"), change);
          }
          if (!("variance" in item)) continue;
          const counted = (words: RegExp) => readFigure(words.exec(cells["Attention"] ?? "")?.[1] ?? "") ?? 0;
          assert.equal(counted(/([0-9,]+) rooms? differ/), item.variance?.rooms ?? 0);
          assert.equal(counted(/([0-9,]+) quarantined/), item.quarantined);
        }
        for (const { currency, now } of totals) {
          const of = items.filter(({ now: own }) => own?.amounts[0]?.currency === currency);
          assert.equal(
            now.rooms,
            sum(of, (item) => item.now?.rooms ?? 0),
          );
          assert.equal(
            cents(now.amounts[0]?.roomRevenue),
            sum(items, ({ now: own }) =>
              cents(own?.amounts.find((one) => one.currency === currency)?.roomRevenue),
            ),
          );
          assert.equal(
            now.pickup.week.rooms,
            sum(of, (item) => item.now?.pickup.week.rooms ?? 0),
          );
        }
      }
    });

    inWindow("an overview's figures are of its nights, this year and last", async (page) => {
      const { today } = hotel();
      await visit(page, `/property?${CODES}`);
      const { now, before } = await booksOf(page, today, 30);
      const strips = page.locator(".figures");
      await strips
        .first()
        .getByText(/ last year/)
        .first()
        .waitFor();
      const [keys, ...pickups] = await strips.all();
      assertKeyFigures(await figuresOf(keys as Locator), totalOf(now), totalOf(before));
      const end = addDays(today, 89);
      assert.equal(pickups.length, 2);
      for (const [place, strip] of pickups.entries()) {
        const moved = await itemsOf(page, "pickup", {
          ...{ from: today, to: addDays(today, 29), days: place === 0 ? "1" : "7" },
        });
        const [rooms, ...amounts] = [...(await figuresOf(strip)).values()];
        assert.equal(
          readFigure(rooms?.value ?? ""),
          sum(moved, (item) => item.rooms),
        );
        const counts = [...(rooms?.note ?? "").matchAll(/[0-9][0-9,]*/g)].map(([text]) => readFigure(text));
        assert.deepEqual(
          counts,
          ["booked", "cancelled"].map((member) => sum(moved, (item) => Number(item[member]))),
        );
        assert.equal(
          sum(amounts, ({ value }) => centsShown(value)),
          sum(moved, (item) => cents(item.roomRevenue)),
        );
      }
      const nights = Map.groupBy(
        await itemsOf(page, "on-the-books", { from: today, to: end }),
        ({ stayDate }) => stayDate,
      );
      const cells = await page.locator("a.night").allInnerTexts();
      assert.equal(cells.length, 90);
      for (const [place, text] of cells.entries()) {
        const items = nights.get(addDays(today, place)) ?? [];
        const { rooms, occupancy } = totalOf(items);
        assert.match(text, new RegExp(`(^|[^0-9])${rooms} rooms?`));
        if (occupancy !== null) assert.match(text, new RegExp(`${occupancy.toFixed(1)} %`));
      }
    });

    for (const begin of [0, 112])
      inWindow(`on the books from night ${begin}: every night, month and total`, async (page) => {
        const from = addDays(hotel().today, begin);
        const to = addDays(from, 34);
        await visit(page, `/property/on-the-books?${CODES}&from=${from}&to=${to}`);
        const { now, before } = await booksOf(page, from, 35);
        const table = page.getByRole("table", { name: "On the books by night" });
        await table.getByText("Last year").waitFor();
        const rows = await rowsOf(table);
        assertKeyFigures(await figuresOf(page.locator(".figures").first()), totalOf(now), totalOf(before));
        const sums = rows.filter(({ kind }) => kind === "total");
        assert.ok(sums.length >= 3, "a total and two months");
        const months = [
          ...new Set([...now, ...before].map(({ stayDate }) => stayDate.slice(0, 7))),
        ].toSorted();
        for (const [place, month] of ["", ...months].entries()) {
          const isIn = ({ stayDate }: Item) => stayDate.startsWith(month);
          assertLine(sums[place], totalOf(now.filter(isIn)), totalOf(before.filter(isIn)));
        }
        const lines = rows.filter(({ kind }) => kind !== "total");
        for (const head of ["Rooms", "Last year", "Change", "Guests"])
          assert.equal(
            sum(lines, ({ cells }) => readFigure(cells[head] ?? "") ?? 0),
            readFigure(sums[0]?.cells[head] ?? "") ?? 0,
            head,
          );
        const priced = now.filter(({ rooms, roomRevenue }) => rooms !== 0 || roomRevenue !== null);
        const pricedLines = lines.filter(({ cells }) => readFigure(cells["Rooms"] ?? "") !== 0);
        assert.equal(pricedLines.length, priced.length);
        for (const [place, item] of priced.entries()) {
          const { cells } = pricedLines[place] ?? NO_ROW;
          const figure = (head: string) => readFigure(cells[head] ?? "");
          assert.equal(figure("Rooms"), item.rooms);
          assert.equal(figure("Room revenue"), numberOf(item.roomRevenue));
          assert.equal(figure("ADR"), numberOf(item["adr"]));
          assert.equal(figure("RevPAR") ?? null, numberOf(item["revpar"]) ?? null);
          assert.equal(figure("Occupancy"), percentOf(item["occupancy"]));
        }
      });

    inWindow(
      "the daily report has every figure of the API, as rows, sums, filters and order say",
      async (page) => {
        const { today } = hotel();
        const range = { from: today, to: addDays(today, 29) };
        const table = page.getByRole("table", { name: /^Daily report by/ });
        const read = async (more: string) => {
          await visit(page, `/property/report?${CODES}${more}`);
          await table.waitFor();
          return await rowsOf(table);
        };
        const report = async (sum: string) =>
          await ask<{ items: Item[]; totals: Item[] }>(
            page,
            `insight/daily-report?${CODES}&${new URLSearchParams({ ...range, sum, limit: "1000" })}`,
          );
        for (const sum of ["none", "dayOfWeek", "week", "month", "quarter"]) {
          const rows = await read(sum === "none" ? "" : `&sum=${sum}`);
          const { items, totals } = await report(sum);
          assert.equal(rows.length, totals.length + items.length);
          for (const [place, item] of [...totals, ...items].entries())
            assertReported(rows[place] ?? NO_ROW, item);
        }
        const { items } = await report("none");
        const share = (item: Item) => Number(item["occupancy"] ?? Number.NaN);
        const full = (await read("&only=full")).filter(({ kind }) => kind !== "total");
        assert.equal(full.length, items.filter((item) => share(item) > 0.9).length);
        const empty = (await read("&only=empty")).filter(({ kind }) => kind !== "total");
        assert.equal(empty.length, items.filter((item) => share(item) < 0.4).length);
        assert.ok(full.length + empty.length > 0, "the hotel has a full or an empty night");
        await read("");
        await table.getByRole("link", { name: "Pickup 7", exact: true }).click();
        await page.waitForURL(/sort=pickup7&order=down/);
        const moved = (await rowsOf(table)).slice(1).map(({ cells }) => readFigure(cells["Pickup 7"] ?? ""));
        assert.deepEqual(
          moved,
          items.map((item) => Number(item["pickup7Rooms"])).toSorted((one, other) => other - one),
        );
      },
    );

    inWindow(
      "the daily report of all hotels has the API's figures, and opens hotels, then nights",
      async (page) => {
        await refreshFigures(service().pool);
        const table = page.getByRole("table", { name: /^Daily report by/ });
        for (const sum of ["none", "dayOfWeek", "week", "month", "quarter", "property"]) {
          await visit(page, `/report?range=next90${sum === "none" ? "" : `&sum=${sum}`}`);
          await table.waitFor();
          const rows = await rowsOf(table);
          const { items, totals } = await ask<{ items: Item[]; totals: Item[] }>(
            page,
            `portfolio-report?range=next90&sum=${sum}`,
          );
          assert.equal(rows.length, totals.length + items.length, sum);
          assert.ok(items.length > 0);
          for (const [place, item] of [...totals, ...items].entries())
            assertReported(rows[place] ?? NO_ROW, item);
        }
        await visit(page, "/");
        await page.locator(".page-head").getByRole("link", { name: "Daily report" }).click();
        await page.waitForURL(/\/report\?range=next30$/);
        const night = table.locator("tbody tr:not(.total)").first();
        const shown = await night.locator('td[data-head="Rooms"]').innerText();
        await night.locator('td[data-head="Rooms"]').getByRole("link").click();
        await page.waitForURL(/sum=property/);
        await page.getByRole("table", { name: /^Daily report by hotel/ }).waitFor();
        const hotels = await rowsOf(table);
        assert.equal(readFigure(hotels[0]?.cells["Rooms"] ?? ""), readFigure(shown));
        const grand = table.locator("tbody tr:not(.total)").filter({ hasText: hotels.at(-1)?.head ?? "" });
        await grand.locator('td[data-head="Rooms"]').getByRole("link").first().click();
        await page.waitForURL(/\/property\/on-the-books\?.*night=/);
      },
    );

    inWindow(
      "a chosen range stays relative in the address, on each page of a property and in links",
      async (page) => {
        const { today } = hotel();
        await visit(page, `/property/report?${CODES}`);
        await page.getByLabel("Range").selectOption("next 7 nights");
        await page.waitForURL(/range=next7$/);
        assert.equal(await page.getByLabel("To night").inputValue(), addDays(today, 6));
        await page.getByRole("link", { name: "On the books", exact: true }).click();
        await page.waitForURL(/on-the-books\?.*range=next7$/);
        assert.equal(await page.getByLabel("To night").inputValue(), addDays(today, 6));
        await page.getByLabel("To night").fill(addDays(today, 9));
        await page.waitForURL((url) => url.searchParams.get("to") === addDays(today, 9));
        assert.equal(new URL(page.url()).searchParams.get("range"), null);
      },
    );

    inWindow("an Excel file of the daily report has what the screen shows", async (page) => {
      const { today } = hotel();
      const to = addDays(today, 29);
      await visit(page, `/property/report?${CODES}&from=${today}&to=${to}&sort=pickup7&order=down`);
      const shown = await rowsOf(page.getByRole("table", { name: /^Daily report by/ }));
      const saved = page.waitForEvent("download");
      await page.getByRole("button", { name: "Download Excel" }).click();
      const download = await saved;
      assert.equal(download.suggestedFilename(), `daily-report-ACME-PARIS01-${today}-to-${to}.xlsx`);
      const { Sheets } = readExcel(await readFile(await download.path()), { cellDates: true });
      const lines = utils.sheet_to_json<Record<string, unknown>>(Sheets["Data"] ?? {}, { UTC: true });
      assert.equal(lines.length, shown.length);
      for (const [place, line] of lines.entries()) {
        const { cells, head } = shown[place] ?? NO_ROW;
        assert.deepEqual(
          [line["Client code"], line["Property"], line["Currency"]],
          ["ACME", "PARIS01", "EUR"],
        );
        for (const name of ["Rooms", "Last year", "Change", "Pickup 7", "Room revenue", "ADR", "Cancelled"])
          assert.equal(line[name] ?? null, readFigure(cells[name] ?? ""), `${head} ${name}`);
        if (place > 0) assert.ok(line["Night"] instanceof Date, head);
      }
      assert.equal(lines[0]?.["Night"], "Total");
      assert.equal(
        sum(lines.slice(1), (line) => Number(line["Rooms"])),
        lines[0]?.["Rooms"],
      );
      const about = Object.fromEntries(
        utils.sheet_to_json<[string, string]>(Sheets["About"] ?? {}, { header: 1 }),
      );
      assert.deepEqual(
        [about["Property"], about["First night"], about["Last night"]],
        ["PARIS01", today, to],
      );

      await visit(page, "/account");
      await page.getByText("semicolon, 1,5").click();
      await visit(page, `/property/report?${CODES}&from=${today}&to=${to}`);
      const csv = page.waitForEvent("download");
      await page.getByRole("button", { name: "Download CSV" }).click();
      const [heads = "", first = ""] = (await readFile(await (await csv).path(), "utf8")).split("\r\n");
      const adr = first.split(";")[heads.split(";").indexOf("adr")];
      assert.match(heads, /^\ufeffstayDate;rooms;/);
      assert.match(adr ?? "", /^[0-9]+,[0-9]{2}$/);
    });

    inWindow("a figure of the daily report opens what is behind it", async (page) => {
      const night = addDays(hotel().today, 4);
      const open = async (head: string) => {
        await visit(page, `/property/report?${CODES}&from=${night}&to=${night}`);
        const cell = page.locator(`tbody tr:not(.total) td[data-head="${head}"]`);
        const shown = readFigure(await cell.innerText());
        await cell.getByRole("link").click();
        return shown;
      };
      const rooms = await open("Rooms");
      await page.getByText(new RegExp(`^${rooms} rooms of [0-9]+ reservations`)).waitFor();
      const lastYear = await open("Last year");
      await page.getByText(new RegExp(`^${lastYear} rooms of [0-9]+ reservations`)).waitFor();
      const final = await open("Last year final");
      await page.getByText(new RegExp(`^${final} rooms of [0-9]+ reservations`)).waitFor();
      await open("Pickup 7");
      await page
        .getByRole("heading", { name: "Pickup" })
        .or(page.getByText("7 days, with today"))
        .first()
        .waitFor();
      assert.match(page.url(), /property\/pickup\?.*days=7/);
      const moved = await open("Pickup 30");
      const behind = await page.getByText(/rooms of [0-9]+ reservations? since/).innerText();
      assert.equal(readFigure(behind.split(" ")[0] ?? ""), moved);
      assert.notEqual(moved, 0);
      const table = page.getByRole("table", { name: /^Reservations that moved/ });
      const changes = (await rowsOf(table)).map(({ cells }) => cells);
      assert.equal(
        sum(changes, (cells) => Number(readFigure(cells["Change"] ?? ""))),
        moved,
      );
      assert.ok(changes.every((cells) => cells["Segment"] !== "–" && cells["Rate code"] !== "–"));
      await open("Cancelled");
      await page.waitForURL(/property\/reconciliation\?.*night=/);
    });

    for (const [by, show] of [
      ["marketSegment", "rooms"],
      ["roomType", "rooms"],
      ["channel", "revenue"],
    ] as const)
      inWindow(`on the books by ${by}: ${show} of every night and group`, async (page) => {
        const from = hotel().today;
        await visit(page, `/property/on-the-books?${CODES}&by=${by}&show=${show}`);
        const { now, before } = await booksOf(page, from, 30, by);
        const table = page.getByRole("table", { name: /by night and/ });
        await table.getByText("Change on last year").waitFor();
        const rows = await rowsOf(table);
        const isOf = ({ currency }: Item) => show === "rooms" || currency === "EUR";
        const amount = (items: readonly Item[]) =>
          sum(items.filter(isOf), (item) => (show === "rooms" ? item.rooms * 100 : cents(item.roomRevenue)));
        const named = Object.keys(rows[0]?.cells ?? {}).filter((head) => head !== "Total");
        const isIn = (name: string) => (item: Item) => {
          const own = String(item[by] ?? "none");
          return name === "Total" || (name === "Other" ? !named.includes(own) : own === name);
        };
        const expected = [now, before, undefined, ...datesFrom(from, 30)];
        assert.equal(rows.length, expected.length);
        for (const [place, { cells }] of rows.entries())
          for (const name of ["Total", ...named]) {
            const of = expected[place];
            const then = amount(before.filter(isIn(name)));
            const items =
              typeof of === "string" ? now.filter(({ stayDate }) => stayDate === of) : (of ?? now);
            const right = amount(items.filter(isIn(name))) - (of === undefined ? then : 0);
            assert.equal(centsShown(cells[name] ?? ""), right, `${rows[place]?.head} ${name}`);
          }
      });

    inWindow("a page of more groups has no total, and a part of a night says so", async (page) => {
      await page.route(/insight\/on-the-books\?.*by=/, (route) =>
        route.continue({ url: route.request().url().replace("limit=10000", "limit=7") }),
      );
      await visit(page, `/property/on-the-books?${CODES}&by=marketSegment`);
      const table = page.getByRole("table", { name: /by night and/ });
      const heads = (await rowsOf(table)).map(({ head }) => head);
      assert.deepEqual(
        heads.map((head) => head.endsWith(", in part")),
        [false, false, true],
      );
      await page.getByRole("link", { name: "Next page" }).click();
      await page.getByText(/^Page 2:/).waitFor();
      await page.locator(".renewing").waitFor({ state: "detached" });
      assert.match((await rowsOf(table))[0]?.head ?? "", /, in part$/);
    });

    inWindow("separators are the browser's, dates are words", async (page) => {
      const storageState = await page.context().storageState();
      const context = await page.context().browser()?.newContext({ locale: "de-DE", storageState });
      const german = await context?.newPage();
      assert.ok(german !== undefined);
      await visit(german, `/property/on-the-books?${CODES}&asOf=2026-03-14 09:30`);
      await german.getByText("14 Mar 2026 09:30 UTC").waitFor();
      await visit(german, `/property/on-the-books?${CODES}&show=revenue`);
      const items = await itemsOf(page, "on-the-books", {
        from: hotel().today,
        to: addDays(hotel().today, 29),
      });
      const total = (await rowsOf(german.getByRole("table", { name: "On the books by night" })))[0];
      const written = (value: number | null) =>
        value === null ? "" : value.toLocaleString("de-DE", { minimumFractionDigits: 2 });
      assert.equal(total?.cells["Room revenue"], written((totalOf(items).revenue ?? 0) / 100));
      assert.equal(total?.cells["ADR"], written(totalOf(items).adr));
      await context?.close();
    });

    inWindow("a pace curve stands where the API says", async (page) => {
      const from = hotel().today;
      const items = await itemsOf(page, "pace", { from, to: addDays(from, 29) });
      await visit(page, `/property/pace?${CODES}`);
      await page.getByText("View as table").click();
      const rows = await rowsOf(page.getByRole("table", { name: /Pace by days/ }));
      assert.equal(rows.length, items.length);
      for (const [place, item] of items.entries()) {
        const { head, cells } = rows[place] ?? NO_ROW;
        assert.equal(Number(head), item["daysBefore"]);
        assert.equal(readFigure(cells["Rooms"] ?? ""), item.rooms);
        assert.equal(readFigure(cells["Rooms last year"] ?? ""), item["lastYearRooms"]);
        assert.equal(readFigure(cells["Room revenue"] ?? ""), numberOf(item.roomRevenue));
        assert.equal(
          readFigure(cells["Room revenue last year"] ?? ""),
          numberOf(item["lastYearRoomRevenue"]),
        );
      }
      const last = Math.min(
        ...items.filter(({ rooms }) => rooms !== null).map((item) => Number(item["daysBefore"])),
      );
      const at = (days: number) => items.filter((item) => item["daysBefore"] === days);
      const lastYear = (days: number) => sum(at(days), (item) => Number(item["lastYearRooms"]));
      const shown = [...(await figuresOf(page.locator(".figures").first())).values()];
      const rooms = sum(at(last), (item) => item.rooms);
      const end = Math.min(...items.map((item) => Number(item["daysBefore"])));
      assert.deepEqual(
        shown.map(({ value }) => readFigure(value)),
        [
          sum(await itemsOf(page, "on-the-books", { from, to: addDays(from, 29) }), (item) => item.rooms),
          ...[rooms, lastYear(last), rooms - lastYear(last), lastYear(end)],
        ],
      );
    });

    for (const show of ["rooms", "revenue"])
      inWindow(`pickup of ${show}: every day and night`, async (page) => {
        const { today } = hotel();
        await visit(page, `/property/pickup?${CODES}&show=${show}`);
        const rows = await page.locator(".heat tbody tr").all();
        assert.equal(rows.length, 14);
        for (const [back, row] of rows.entries()) {
          const day = addDays(today, -back);
          const moved = await itemsOf(page, "pickup", {
            from: today,
            to: addDays(today, 29),
            day,
          });
          const amount = (items: readonly Item[]) =>
            sum(items, (item) => (show === "rooms" ? item.rooms * 100 : cents(item.roomRevenue)));
          const cells = await row.locator("td").all();
          const shown = await Promise.all(
            cells.map(async (cell) => {
              const exact = cell.locator(".unseen");
              return centsShown(await ((await exact.count()) > 0 ? exact : cell).innerText());
            }),
          );
          const expected = datesFrom(today, 30).map((night) =>
            amount(moved.filter(({ stayDate }) => stayDate === night)),
          );
          assert.deepEqual(shown, [...expected, amount(moved)], day);
        }
      });

    for (const range of ["hour", "day"])
      inWindow(`ingestion of the last ${range} is what its answer counts`, async (page) => {
        await visit(page, `/intake?range=${range}`);
        const figures = [...(await figuresOf(page.locator(".figures").first())).values()];
        const { minutes, outcomes, quarantined } = await ask<IntakeAnswer>(page, `intake?range=${range}`);
        const rates = minutes.flatMap(({ resources }) => Object.values(resources ?? {}));
        const records = sum(rates, (rate) => rate.records);
        assert.ok(records > 1_000);
        assert.deepEqual(
          [figures[0], figures[4]].map((each) => readFigure(each?.value ?? "")),
          [records, quarantined],
        );
        const notes = [figures[0], figures[1], figures[2]].map((each) =>
          [...(each?.note ?? "").matchAll(/[0-9][0-9,]*/g)].slice(0, 2).map(([text]) => readFigure(text)),
        );
        const [, rejected, warned] = notes;
        assert.equal(
          notes[0]?.[0],
          sum(rates, (rate) => rate.batches),
        );
        assert.deepEqual(rejected, [outcomes.rejected, outcomes.records]);
        assert.deepEqual(warned, [outcomes.warned, outcomes.records]);
        const words = await page.locator(".section-head p").first().innerText();
        const of = (resource: Resource) =>
          sum(minutes, ({ resources }) => resources?.[resource].records ?? 0);
        assert.deepEqual(
          [...words.matchAll(/[0-9][0-9,]*/g)].map(([text]) => readFigure(text)),
          [of("inventories"), of("reservations"), of("groups")],
        );
      });

    inWindow("blocks are summed over their nights", async (page) => {
      const from = hotel().today;
      const items = await itemsOf(page, "blocks", { from, to: addDays(from, 89) });
      await visit(page, `/property/blocks?${CODES}`);
      const total = (member: string, of = items) => sum(of, (item) => Number(item[member] ?? 0));
      const shown = [...(await figuresOf(page.locator(".figures").first())).values()];
      const share = Math.round((total("pickedUp") / total("blocks")) * 1000) / 10;
      assert.deepEqual(
        shown.slice(0, 4).map(({ value }) => readFigure(value)),
        [new Set(items.map((item) => item["group"])).size, total("blocks"), share, total("remaining")],
      );
      assert.equal(Number.parseInt(shown[2]?.note ?? "", 10), total("pickedUp"));
      const groups = page.getByRole("table", { name: /^Groups/ });
      const [group] = await rowsOf(groups);
      const name = items[0]?.["group"];
      const own = items.filter((item) => item["group"] === name);
      assert.deepEqual(
        ["Contracted", "Picked up", "Remaining"].map((head) => readFigure(group?.cells[head] ?? "")),
        ["blocks", "pickedUp", "remaining"].map((member) => total(member, own)),
      );
      await groups.getByRole("button").first().click();
      const nights = await rowsOf(groups.getByRole("table", { name: `Nights of ${name}` }));
      const heads = ["Blocked", "Picked up", "Picked up (reservations)", "Remaining", "Originally"];
      const members = ["blocks", "pickedUp", "pickedUpRebuilt", "remaining", "originalBlocks"];
      assert.deepEqual(
        nights.map(({ cells }) => heads.map((head) => readFigure(cells[head] ?? ""))),
        own.map((item) => members.map((member) => item[member])),
      );
    });

    inWindow("a reconciliation counts the nights of all pages", async (page) => {
      const from = hotel().today;
      const items = await itemsOf(page, "reconciliation", { from, to: addDays(from, 34), by: "roomType" });
      // As where there are more than a thousand.
      await page.route(/insight\/reconciliation\?/, (route) =>
        route.continue({ url: route.request().url().replace("limit=1000", "limit=40") }),
      );
      await visit(page, `/property/reconciliation?${CODES}&by=roomType&nights=all`);
      const compared = items.filter((item) => item["reported"] !== null);
      const differing = compared.filter((item) => item["difference"] !== 0);
      assert.deepEqual(
        [...(await figuresOf(page.locator(".figures").first())).values()].map(({ value }) =>
          readFigure(value),
        ),
        [
          compared.length,
          differing.length,
          sum(differing, (item) => Math.abs(Number(item["difference"]))),
          items.length - compared.length,
        ],
      );
      const rows = await rowsOf(page.getByRole("table", { name: "Reported and rebuilt rooms by night" }));
      const heads = ["Reported", "Rebuilt", "Difference", "Blocks remaining"];
      const members = ["reported", "rebuilt", "difference", "unpickedBlocks"];
      assert.deepEqual(
        rows.map(({ cells }) => heads.map((head) => readFigure(cells[head] ?? ""))),
        items.map((item) => members.map((member) => item[member])),
      );
    });
  });

function sum<Of>(of: readonly Of[], value: (one: Of) => number): number {
  return of.reduce((total, one) => total + value(one), 0);
}

/** Decimal text of at most two places in cents; nothing is 0. */
function cents(text: string | null | undefined): number {
  return Math.round(Number(text ?? 0) * 100);
}

function numberOf(text: string | number | null | undefined): Shown | undefined {
  return text === null || text === undefined ? null : Number(text);
}

/** As a share is written: a tenth of a per cent. */
function percentOf(share: string | number | null | undefined): Shown {
  return share === null || share === undefined ? null : Math.round(Number(share) * 1000) / 10;
}

const centsShown = (text: string) => Math.round((readFigure(text) ?? 0) * 100);

interface Total {
  readonly rooms: number;
  /** In cents; null: of no currency. */
  readonly revenue: Shown;
  /** In per cent, to a tenth. */
  readonly occupancy: Shown;
  readonly adr: Shown;
  readonly revpar: Shown;
}

/** A row of the daily report, against an item of the answer. */
function assertReported(row: ShownRow, item: Item): void {
  const heads = {
    Rooms: "rooms",
    "Last year": "lastYearRooms",
    "Last year final": "lastYearFinalRooms",
    "Pickup 1": "pickup1Rooms",
    "Pickup 3": "pickup3Rooms",
    "Pickup 7": "pickup7Rooms",
    "Pickup 30": "pickup30Rooms",
    "Room revenue": "roomRevenue",
    ADR: "adr",
    RevPAR: "revpar",
    Cancelled: "cancelledRooms",
    "No-shows": "noShowRooms",
  };
  for (const [head, name] of Object.entries(heads))
    assert.equal(readFigure(row.cells[head] ?? ""), numberOf(item[name]), `${row.head} ${head}`);
  const [shown, exact] = [readFigure(row.cells["Occupancy"] ?? ""), percentOf(item["occupancy"])];
  assert.equal(shown === null, exact === null, row.head);
  // Halves round by their binary value.
  assert.ok(Math.abs(Number(shown ?? 0) - Number(exact ?? 0)) < 0.11, `${row.head}: ${shown} for ${exact}`);
}

/** Rooms and euros of some nights of a hotel that reports a capacity, of which nothing is out of order. */
function totalOf(items: readonly Item[]): Total {
  const priced = items.filter(({ currency, roomRevenue }) => currency === "EUR" && roomRevenue !== null);
  const capacities = new Map(
    items.flatMap(({ stayDate, capacity }) => (capacity ? [[stayDate, capacity]] : [])),
  );
  const base = sum([...capacities.values()], (capacity) => capacity);
  const isBased = ({ stayDate }: Item) => capacities.has(stayDate);
  const revenueOf = (of: readonly Item[]) => sum(of, (item) => cents(item.roomRevenue));
  const rooms = sum(items, (item) => item.rooms);
  const ratio = (of: number, by: number) => (by === 0 ? null : Math.round(of / by) / 100);
  return {
    rooms,
    revenue: priced.length === 0 ? null : revenueOf(priced),
    occupancy:
      base === 0 ? null : Math.round((sum(items.filter(isBased), (item) => item.rooms) / base) * 1000) / 10,
    adr:
      priced.length === 0
        ? null
        : ratio(
            revenueOf(priced),
            sum(priced, (item) => item.rooms),
          ),
    revpar: priced.length === 0 && rooms > 0 ? null : ratio(revenueOf(priced.filter(isBased)), base),
  };
}

const inCents = (value: Shown) => (value === null ? null : Math.round(value * 100));

/** A strip of figures: each with last year's behind “on” in its note, where that is known. */
function assertKeyFigures(shown: ReadonlyMap<string, ShownFigure>, now: Total, before: Total): void {
  for (const [name, member] of [
    ["Occupancy", "occupancy"],
    ["Rooms", "rooms"],
    ["Room revenue, EUR", "revenue"],
    ["ADR", "adr"],
    ["RevPAR", "revpar"],
  ] as const) {
    const { value = "", note = "" } = shown.get(name) ?? {};
    const asShown = (text: string) => (member === "revenue" ? inCents(readFigure(text)) : readFigure(text));
    assert.equal(asShown(value), now[member], name);
    const then = /(?:on |^)(\S+(?: %)?) last year$/.exec(note)?.[1];
    assert.equal(then === undefined ? null : asShown(then), before[member], `${name} last year: ${note}`);
  }
}

function assertLine(row: ShownRow | undefined, now: Total, before: Total): void {
  const figure = (head: string) => readFigure(row?.cells[head] ?? "");
  assert.equal(figure("Rooms"), now.rooms, row?.head);
  assert.equal(figure("Last year"), before.rooms, `${row?.head} last year`);
  assert.equal(figure("Change"), now.rooms - before.rooms, row?.head);
  assert.equal(inCents(figure("Room revenue")), now.revenue, row?.head);
  if (now.revenue !== null && before.revenue !== null)
    assert.equal(inCents(figure("Change of revenue")), now.revenue - before.revenue, row?.head);
  assert.equal(figure("Occupancy"), now.occupancy, row?.head);
  assert.equal(figure("ADR"), now.adr, row?.head);
  assert.equal(figure("RevPAR"), now.revpar, row?.head);
}
