import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { addOperator, PASSWORD } from "../support/console-session.ts";
import { type OpenIdProvider, startOpenIdProvider } from "../support/openid-provider.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { DESK, NoChromium, openBrowser, openWindow } from "./chromium.ts";
import { fillHotel, type Hotel } from "./hotel.ts";
import { logInByHand, settled } from "./pages.ts";

/** Whom the OpenID Connect provider knows. */
export const ACCOUNTS = { dora: { email: "dora@hotel.example", email_verified: true } } as const;

/** What a test changes of its window. */
export interface WindowOptions {
  /** Nobody is logged in. */
  readonly loggedOut?: boolean;
  /** One that has loaded nothing yet. */
  readonly fresh?: boolean;
}

type Window = Awaited<ReturnType<typeof openWindow>>;

/** What a test listens to; `openWindow` listens to other events. */
const OF_TESTS = ["request", "requestfinished", "download"];

/** A service with the hotel of the tests, one operator, `anna`, and a Chromium. */
export interface ConsoleFixture {
  readonly service: () => TestService;
  readonly hotel: () => Hotel;
  /**
   * A test in a window that has nothing of the tests before but what they have loaded; whatever goes wrong in it (scripts, policy,
   * loads) fails the test, but for what is expected.
   */
  inWindow(
    name: string,
    run: (page: Page, complaints: string[]) => Promise<void>,
    options?: WindowOptions,
  ): void;
  /** Goes to a page of the console and waits until all of it is there. */
  visit(page: Page, path: string): Promise<void>;
}

/** Starts it all before the tests of a file, which are skipped where this machine has no Chromium. The files, about equally long, run beside one another. */
export function consoleFixture(): ConsoleFixture {
  let provider: OpenIdProvider;
  let service: TestService;
  let browser: Browser;
  let hotel: Hotel;
  let cookies: Parameters<Window["context"]["addCookies"]>[0];
  let withoutBrowser: string | undefined;
  /** A new window, its process and all that it loads anew, is 1 s of CPU. */
  let used: Window | undefined;

  before(async () => {
    try {
      browser = await openBrowser();
    } catch (error) {
      if (!(error instanceof NoChromium)) throw error;
      withoutBrowser = error.message;
      return;
    }
    provider = await startOpenIdProvider(ACCOUNTS);
    service = await startTestService({ singleSignOn: provider.settings });
    provider.serve(service.address);
    await addOperator(service, "anna");
    hotel = await fillHotel(service);
    const { context, page } = await openWindow(browser, {});
    await page.goto(`${service.address}/console/`);
    await logInByHand(page, "anna", PASSWORD);
    await page.getByRole("heading", { name: "Portfolio" }).waitFor();
    cookies = await context.cookies();
    await context.close();
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
    provider?.stop();
  });

  /** Leaves the page for one without scripts, and forgets what it has kept and what was done to it. */
  const tidy = async ({ context, page }: Window) => {
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.goto(`${service.address}/console/icon.svg`);
    for (const event of OF_TESTS) page.removeAllListeners(event);
    await page.evaluate("localStorage.clear(), sessionStorage.clear()");
    await context.clearCookies();
    await page.setViewportSize(DESK);
    await page.emulateMedia({ colorScheme: "light" });
  };
  const inWindow: ConsoleFixture["inWindow"] = (name, run, { loggedOut = false, fresh = false } = {}) => {
    test(name, async (t) => {
      if (withoutBrowser !== undefined) return t.skip(withoutBrowser);
      const window = (fresh ? undefined : used) ?? (await openWindow(browser, { colorScheme: "light" }));
      const { context, page, complaints } = window;
      // Until the test has passed: what a failed one has left is not known.
      if (!fresh) used = undefined;
      try {
        if (!loggedOut) await context.addCookies(cookies);
        await run(page, complaints);
        await tidy(window);
        assert.deepEqual(complaints, []);
        if (!fresh) used = window;
      } finally {
        if (used !== window) await context.close();
      }
    });
  };
  const visit: ConsoleFixture["visit"] = async (page, path) => {
    await page.goto(`${service.address}/console${path}`);
    await settled(page);
  };
  return { service: () => service, hotel: () => hotel, inWindow, visit };
}
