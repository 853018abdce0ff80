import assert from "node:assert/strict";
import { describe } from "node:test";
import { violationsOf } from "./axe.ts";
import { consoleFixture } from "./console-fixture.ts";
import { pagesOf } from "./pages.ts";

/** What a first visit may load, all of it, as it comes over the wire. */
const FIRST_LOAD_BYTES_MAX = 250 * 1024;

const { service, hotel, inWindow, visit } = consoleFixture();
const everyPage = () => pagesOf(hotel(), service().client.clientId);

describe("every page of the console", () => {
  for (const dark of [false, true])
    inWindow(
      `has nothing that axe finds wrong, ${dark ? "dark" : "light"}`,
      async (page) => {
        const found: string[] = [];
        for (const [name, path] of everyPage()) {
          await visit(page, path);
          found.push(...(await violationsOf(page)).map((violation) => `${name}: ${violation}`));
        }
        assert.deepEqual(found, []);
      },
      { dark },
    );

  inWindow(
    "fits a phone, and has nothing that axe finds wrong there",
    async (page) => {
      const found: string[] = [];
      for (const [name, path] of everyPage()) {
        await visit(page, path);
        const beyond = await page.evaluate<number>(
          "document.documentElement.scrollWidth - document.documentElement.clientWidth",
        );
        if (beyond > 0) found.push(`${name} is ${beyond} pixels too wide`);
        found.push(...(await violationsOf(page)).map((violation) => `${name}: ${violation}`));
      }
      assert.deepEqual(found, []);
    },
    { phone: true },
  );

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
    { loggedOut: true },
  );

  inWindow("has no style attribute in its page as it is served", async (page) => {
    const served = await (await page.request.get(`${service().address}/console/`)).text();
    assert.doesNotMatch(served, /style=|<style|javascript:/);
  });
});
