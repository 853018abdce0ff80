import assert from "node:assert/strict";
import { describe } from "node:test";
import type { Page } from "playwright-core";
import { violationsOf } from "./axe.ts";
import { PHONE } from "./chromium.ts";
import type { ConsoleFixture } from "./console-fixture.ts";

/** Between them they have all that a page can have: programs as tabs, pictures, tables with and without heads, Scalar. */
const PAGES = ["", "/guides/shares", "/console", "/records", "/api"];
/** Those with what could be wider than a phone: tables of fields, pictures, long lines, the API reference. */
const WIDE_PAGES = [...PAGES, "/errors", "/security"];

export const describeDocumentation = ({ service, inWindow: inAnyWindow }: ConsoleFixture) =>
  describe("the documentation in a browser", () => {
    const visit = async (page: Page, path: string) => {
      await page.goto(`${service().address}/docs${path}`);
      await page.getByRole("heading", { level: 1 }).first().waitFor();
    };
    const inWindow = (name: string, run: (page: Page) => Promise<void>) =>
      inAnyWindow(name, run, { loggedOut: true });
    for (const path of PAGES)
      inWindow(`/docs${path}: axe finds nothing wrong in light and in dark`, async (page) => {
        await visit(page, path);
        const found = await violationsOf(page);
        await page.emulateMedia({ colorScheme: "dark" });
        found.push(...(await violationsOf(page, "colours")));
        assert.deepEqual(found, []);
      });

    inWindow("fits a phone, where axe finds nothing wrong either", async (page) => {
      await page.setViewportSize(PHONE);
      for (const path of WIDE_PAGES) {
        await visit(page, path);
        const beyond = await page.evaluate<number>(
          "document.documentElement.scrollWidth - document.documentElement.clientWidth",
        );
        assert.ok(beyond <= 0, `${path} is ${beyond} pixels wider`);
      }
      await visit(page, "");
      assert.deepEqual(await violationsOf(page), []);
    });

    inWindow("a language is chosen by keyboard, for every program of every page", async (page) => {
      await visit(page, "/guides/quickstart");
      const selected = () => page.locator('[role=tab][aria-selected="true"]').allTextContents();
      assert.deepEqual(await selected(), ["curl", "curl"]);
      await page.getByRole("tab", { name: "curl" }).first().focus();
      await page.keyboard.press("ArrowLeft");
      assert.deepEqual(await selected(), ["Python", "Python"]);
      await page.keyboard.press("ArrowLeft");
      assert.deepEqual(await selected(), ["JavaScript", "JavaScript"]);
      assert.equal(await page.getByRole("tabpanel").first().getByText("waitForOutcomes").isVisible(), true);
      await visit(page, "/guides/shares");
      assert.deepEqual(await selected(), ["JavaScript"]);
    });

    inWindow(
      "the search is reached, used and left by keyboard, and leads to the part that was found",
      async (page) => {
        await visit(page, "/guides/shares");
        await page.keyboard.press("/");
        await page.keyboard.type("idempotency reused");
        await page.getByRole("option").first().waitFor();
        assert.match((await page.getByRole("option").first().textContent()) ?? "", /IdempotencyKeyReused/);
        assert.deepEqual(await violationsOf(page), []);
        await page.keyboard.press("Escape");
        assert.equal(await page.getByRole("option").count(), 0);
        await page.keyboard.press("ArrowDown");
        await page.getByRole("option").first().waitFor();
        await page.keyboard.press("Enter");
        await page.waitForURL(/\/docs\/errors#/);
      },
    );

    inWindow("the search ranks whole words above beginnings of words, and finds operations", async (page) => {
      await visit(page, "");
      const field = page.getByRole("combobox");
      const first = async (query: string) => {
        await field.fill(query);
        await page.getByRole("option").first().waitFor();
        return page.getByRole("option").first().getAttribute("href");
      };
      assert.match((await first("share")) ?? "", /docs\/guides\/(?:shares|recipes#.*share)/);
      assert.match((await first("webhooks")) ?? "", /docs\/webhooks|docs\/guides\/changes#webhooks/);
      await field.fill("list your requests");
      await page.locator('a[href="docs/api#listRequests"]').click();
      await page.getByRole("heading", { name: "List your requests" }).waitFor();
    });

    inWindow(
      "the API reference draws every operation, without a request to another address",
      async (page) => {
        const requested: string[] = [];
        page.on("request", (request) => requested.push(new URL(request.url()).origin));
        await visit(page, "/api");
        const { paths } = (await (await page.request.get(`${service().address}/openapi.json`)).json()) as {
          readonly paths: Record<string, Record<string, { readonly operationId: string }>>;
        };
        for (const { operationId } of Object.values(paths).flatMap((item) => Object.values(item)))
          await page.locator(`[id$="/${operationId}"]`).first().waitFor({ state: "attached" });
        assert.deepEqual([...new Set(requested)], [service().address]);
      },
    );

    inWindow("on a phone the contents open over the page and lead on", async (page) => {
      await page.setViewportSize(PHONE);
      await visit(page, "");
      await page.getByRole("button", { name: "Contents" }).click();
      await page.getByRole("navigation", { name: "Contents" }).getByRole("link", { name: "Groups" }).click();
      await page.getByRole("heading", { level: 1, name: "Groups" }).waitFor();
    });
  });
