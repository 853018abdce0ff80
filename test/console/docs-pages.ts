import assert from "node:assert/strict";
import { describe } from "node:test";
import type { Page } from "playwright-core";
import { violationsOf } from "./axe.ts";
import type { ConsoleFixture } from "./console-fixture.ts";

/** Pages that are small enough for axe to take seconds, with all that a page can have: tables, programs as tabs. */
const PAGES = ["", "/guides/shares"];
/** Those with what could be wider than a phone: tables of fields, pictures, long lines, the API reference. */
const WIDE_PAGES = [...PAGES, "/errors", "/records", "/console", "/decisions/0007-threads", "/api"];
const PHONE = { width: 390, height: 844 };

export const describeDocumentation = ({ service, inWindow: inAnyWindow }: ConsoleFixture) =>
  describe("the documentation in a browser", () => {
    const visit = (page: Page, path: string) => page.goto(`${service().address}/docs${path}`);
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
      assert.deepEqual(await selected(), ["TypeScript", "TypeScript"]);
      assert.equal(await page.getByRole("tabpanel").first().getByText("new BellhopClient").isVisible(), true);
      await visit(page, "/guides/shares");
      assert.deepEqual(await selected(), ["TypeScript"]);
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

    inWindow("on a phone the contents open over the page and lead on", async (page) => {
      await page.setViewportSize(PHONE);
      await visit(page, "");
      await page.getByRole("button", { name: "Contents" }).click();
      await page.getByRole("navigation", { name: "Contents" }).getByRole("link", { name: "Groups" }).click();
      await page.getByRole("heading", { level: 1, name: "Groups" }).waitFor();
    });

    inWindow("an address of the API reference from when it stood at /docs leads there", async (page) => {
      await visit(page, "#getRequest");
      await page.waitForURL(/\/docs\/api#getRequest$/);
    });
  });
