import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { createOperator } from "../../src/identity/operators.ts";
import { type OpenIdProvider, startOpenIdProvider } from "../support/openid-provider.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { NoChromium, openBrowser, openWindow } from "./chromium.ts";
import { fillHotel, type Hotel } from "./hotel.ts";
import { logInByHand, settled } from "./pages.ts";

export const PASSWORD = "a long enough password";

/** Whom the OpenID Connect provider knows. */
export const ACCOUNTS = { dora: { email: "dora@hotel.example", email_verified: true } } as const;

/** What a test changes of its window. */
export interface WindowOptions {
  /** Nobody is logged in. */
  readonly loggedOut?: boolean;
  /** The window of all tests that say so, as the one before left it: what it has loaded it need not load again. */
  readonly shared?: boolean;
}

/** A service with the hotel of the tests, one operator, `anna`, and a Chromium. */
export interface ConsoleFixture {
  readonly service: () => TestService;
  readonly hotel: () => Hotel;
  /** A test in a window of its own; whatever goes wrong in it (scripts, policy, loads) fails the test, but for what is expected. */
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
  let cookies: Parameters<Awaited<ReturnType<typeof openWindow>>["context"]["addCookies"]>[0];
  let withoutBrowser: string | undefined;
  let sharedWindow: ReturnType<typeof openWindow> | undefined;

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
    await createOperator({ pool: service.pool, who: "cli:test" }, "anna", PASSWORD, {});
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

  const inWindow: ConsoleFixture["inWindow"] = (name, run, options = {}) => {
    test(name, async (t) => {
      if (withoutBrowser !== undefined) return t.skip(withoutBrowser);
      const open = async () => {
        const opened = await openWindow(browser, { colorScheme: "light" });
        if (options.loggedOut !== true) await opened.context.addCookies(cookies);
        return opened;
      };
      if (options.shared === true) sharedWindow ??= open();
      const { context, page, complaints } = await ((options.shared === true && sharedWindow) || open());
      await run(page, complaints);
      if (options.shared !== true) await context.close();
      assert.deepEqual(complaints.splice(0), []);
    });
  };
  const visit: ConsoleFixture["visit"] = async (page, path) => {
    await page.goto(`${service.address}/console${path}`);
    await settled(page);
  };
  return { service: () => service, hotel: () => hotel, inWindow, visit };
}
