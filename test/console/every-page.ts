import assert from "node:assert/strict";
import { describe } from "node:test";
import type { Page } from "playwright-core";
import { addOperator } from "../support/console-session.ts";
import { until } from "../support/until.ts";
import { violationsOf } from "./axe.ts";
import { PHONE } from "./chromium.ts";
import type { ConsoleFixture } from "./console-fixture.ts";
import { missedByKeys } from "./keyboard.ts";
import { pagesOf } from "./pages.ts";

/** What a first visit may load, all of it, as it comes over the wire. */
const FIRST_LOAD_BYTES_MAX = 250 * 1024;

const REDRAWN_MS_MAX = 5_000;

const HAS_WIDE_SHEETS =
  "[...document.querySelectorAll('.table-frame:has(> .sheets)')].some((frame) => frame.scrollWidth > frame.clientWidth)";

/** As `pagesOf` has them, which needs a hotel first. */
const PAGE_NAMES = [
  "portfolio",
  "portfolio-report",
  "intake",
  "requests",
  "request",
  "record",
  "quarantine",
  "quarantined-record",
  "backfills",
  "backfill",
  "certifications",
  "certification",
  "overview",
  "report",
  "on-the-books",
  "a-night",
  "pace",
  "pickup",
  "blocks",
  "reconciliation",
  "calendar",
  "history",
  "clients",
  "client",
  "new-client",
  "webhooks",
  "webhook",
  "subscriptions",
  "settings",
  "audit",
  "operators",
  "account",
];

/** So many pixels it is too wide. Charts are drawn anew once their place has become narrower; what is too wide by itself stays so. */
async function pixelsBeyond(page: Page): Promise<number> {
  const beyond = () =>
    page.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth");
  await until(async () => (await beyond()) <= 0, REDRAWN_MS_MAX).catch(() => undefined);
  return await beyond();
}

/** A page below the first level says where it is. */
async function misplaced(page: Page, path: string): Promise<string[]> {
  const crumbs = page.getByRole("navigation", { name: "Breadcrumb" });
  const [address = ""] = path.slice(1).split("?");
  const isBelow = address.includes("/") || ["property", "history"].includes(address);
  const count = await crumbs.count();
  if (count !== (isBelow ? 1 : 0)) return [`${count} breadcrumbs`];
  if (isBelow && (await crumbs.locator("[aria-current=page]").innerText()) === "")
    return ["the last breadcrumb is empty"];
  return [];
}

/** Its help is a part of the documentation that there is. */
async function withoutHelp(page: Page, origin: string): Promise<string[]> {
  const href = await page.getByRole("link", { name: "Help about this page" }).getAttribute("href");
  const [address, part] = (href ?? "").split("#");
  const answer = await page.request.get(`${origin}${address}`);
  if (answer.status() !== 200) return [`${href}: ${answer.status()}`];
  const hasPart = part === undefined || (await answer.text()).includes(` id="${part}"`);
  return hasPart ? [] : [`${href} has no such part`];
}

export const describeEveryPage = ({ service, hotel, inWindow, visit }: ConsoleFixture) =>
  describe("every page of the console", () => {
    const everyPage = () => pagesOf(hotel(), service().client.clientId);
    for (const name of PAGE_NAMES)
      inWindow(
        `${name}: axe finds nothing wrong in light, in dark and on a phone, which it fits; keys reach everything; it says where it is, and has help`,
        async (page) => {
          const path = everyPage().find(([each]) => each === name)?.[1] ?? "/no-such-page";
          if (name === "operators") await addOperator(service(), "o".repeat(64));
          await visit(page, path);
          const found = [
            ...(await misplaced(page, path)),
            ...(await withoutHelp(page, service().address)),
            ...(await violationsOf(page)),
            ...(await missedByKeys(page)),
          ];
          await page.emulateMedia({ colorScheme: "dark" });
          found.push(...(await violationsOf(page, "colours")));
          await page.setViewportSize(PHONE);
          const beyond = await pixelsBeyond(page);
          if (beyond > 0) found.push(`${beyond} pixels wider than a phone`);
          if (await page.evaluate<boolean>(HAS_WIDE_SHEETS)) found.push("sheets wider than a phone");
          found.push(...(await violationsOf(page, "layout")));
          assert.deepEqual(found, []);
        },
      );

    inWindow("is looked at", async () => {
      assert.deepEqual(
        everyPage().map(([name]) => name),
        PAGE_NAMES,
      );
    });

    inWindow(
      "loads little at first, and nothing from elsewhere",
      async (page) => {
        const origins = new Set<string>();
        const sizes: Promise<number>[] = [];
        page.on("requestfinished", (request) => {
          origins.add(new URL(request.url()).origin);
          sizes.push(request.sizes().then((size) => size.responseBodySize + size.responseHeadersSize));
        });
        await page.goto(`${service().address}/console/`, { waitUntil: "networkidle" });
        await page.getByRole("heading", { name: "Log in to the console" }).waitFor();
        const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
        assert.deepEqual([...origins], [new URL(service().address).origin]);
        assert.ok(bytes > 100_000 && bytes <= FIRST_LOAD_BYTES_MAX, `${bytes} bytes`);
      },
      { loggedOut: true, fresh: true },
    );

    inWindow("has no style attribute in its page as it is served", async (page) => {
      const served = await (await page.request.get(`${service().address}/console/`)).text();
      assert.doesNotMatch(served, /style=|<style|javascript:/);
    });
  });
