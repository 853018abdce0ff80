import { existsSync } from "node:fs";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from "playwright-core";

/** Where distributions and vendors put it. The one without windows comes first: it takes a quarter less CPU. */
const PLACES = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/** A browser that talks to this machine only: without these it looks up its vendor's hosts at every start. */
const ARGUMENTS = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** There is no Chromium on this machine. */
export class NoChromium extends Error {
  override readonly name = "NoChromium";
}

/** The path of this machine's Chromium. Throws NoChromium, and says what to install. */
function findChromium(): string {
  const given = process.env["CHROMIUM"];
  const found = given ? [given] : PLACES.filter((place) => existsSync(place));
  if (found[0] === undefined)
    throw new NoChromium(
      "no Chromium is installed (Debian: apt-get install chromium-headless-shell, or chromium; or set CHROMIUM to its path)",
    );
  return found[0];
}

/** Starts Chromium without a window. */
export function openBrowser(): Promise<Browser> {
  const sandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: findChromium(), args: [...ARGUMENTS, ...sandbox] });
}

export const DESK = { width: 1280, height: 860 };
export const PHONE = { width: 390, height: 844 };

/** A window of its own, and everything that went wrong in it: errors of scripts, what the policy refused, failed loads. */
export async function openWindow(
  browser: Browser,
  options: BrowserContextOptions,
): Promise<{ readonly context: BrowserContext; readonly page: Page; readonly complaints: string[] }> {
  const context = await browser.newContext({ viewport: DESK, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  // As browsers do where the service has just closed a connection that was idle.
  const get = page.request.get.bind(page.request);
  page.request.get = (url, options) => get(url, { maxRetries: 2, ...options });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    const isReported = message.type() === "error" || message.type() === "warning";
    // What an answer of 400 or more was of, the one below says better.
    if (isReported && !message.text().startsWith("Failed to load resource")) complaints.push(message.text());
  });
  page.on("response", (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`);
  });
  page.on("requestfailed", (request) => {
    // Leaving a page ends what it was still asking for.
    if (request.failure()?.errorText !== "net::ERR_ABORTED") complaints.push(`${request.url()} failed`);
  });
  return { context, page, complaints };
}
