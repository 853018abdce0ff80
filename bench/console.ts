/**
 * `npm run campaign -- console [--properties 1000 | --url URL --operator NAME]`: measures the response time of the
 * portfolio with this many properties, and in Chromium the time from an operator's input to the next paint (Event
 * Timing).
 */
import pg from "pg";
import type { Page } from "playwright-core";
import { addDays } from "#contract/dates.ts";
import { readOptions } from "../scripts/read-options.ts";
import { createOperator } from "../src/identity/operators.ts";
import { refreshFigures } from "../src/insight/property-figures.ts";
import { openBrowser, openWindow } from "../test/console/chromium.ts";
import { logInByHand, settled } from "../test/console/pages.ts";
import { machineLine, machineOf } from "./machine.ts";
import { CLIENT_CODE } from "./record-templates.ts";
import { startService } from "./started-service.ts";
import { median, percentile } from "./statistics.ts";
import { untilDrained } from "./until-drained.ts";

const USAGE = `npm run campaign -- console [--properties 1000]
npm run campaign -- console --url http://127.0.0.1:8080 --operator NAME

  --properties N   properties of a service that is made for the run (default: 1000)
  --url URL        a service that runs; the operator's password is in CONSOLE_PASSWORD
  --operator NAME  who logs in there`;

const values = readOptions(USAGE, {
  properties: { type: "string", default: "1000" },
  url: { type: "string" },
  operator: { type: "string", default: "bench" },
});

const PASSWORD = process.env["CONSOLE_PASSWORD"] ?? "a long enough password";
const NIGHTS = 90;
const YEAR_DAYS = 364;
const DAY_MS = 86_400_000;
const ROUNDS = 40;
/** Uncounted first requests, which are slower. */
const WARM_UP = 3;
const PROPERTIES_A_BATCH = 10;

const QUESTIONS = [
  "portfolio?nights=30&limit=100",
  "portfolio?nights=7&limit=100",
  "portfolio?nights=90&limit=100&sort=revenue&order=down",
  "portfolio?nights=30&limit=100&sort=change",
  "portfolio?nights=30&limit=100&attention=any",
  "portfolio?nights=30&limit=100&search=H00012",
  "portfolio?nights=30&limit=1000",
  "portfolio-report?range=next30",
  "portfolio-report?range=next90",
  "portfolio-report?range=next90&sum=week",
  "portfolio-report?range=next30&sum=property",
];

const today = new Date().toISOString().slice(0, 10);
const instantDaysAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString();

/** Nights and some reservations of this year and last year. */
function recordsOf(propertyCode: string): Readonly<Record<"inventories" | "reservations", object[]>> {
  const codes = { clientCode: CLIENT_CODE, propertyCode };
  const years = [
    { shift: 0, sent: instantDaysAgo(1) },
    { shift: -YEAR_DAYS, sent: instantDaysAgo(YEAR_DAYS + 2) },
  ];
  return {
    inventories: years.flatMap(({ shift, sent }) =>
      Array.from({ length: NIGHTS }, (_, night) => ({
        ...codes,
        createDateTime: sent,
        occupancyDate: addDays(today, night + shift),
        roomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: 80, roomsSold: 20 }],
      })),
    ),
    reservations: years.flatMap(({ shift, sent }) =>
      Array.from({ length: NIGHTS / 3 }, (_, place) => ({
        ...codes,
        reservationId: `${propertyCode}-${shift}-${place}`,
        lastModifiedDateTime: sent,
        status: "CONFIRMED",
        numberOfRooms: 1 + (place % 5),
        roomStays: [
          {
            arrivalDate: addDays(today, 3 * place + shift),
            departureDate: addDays(today, 3 * place + 3 + shift),
            roomTypeCode: "DLX",
            marketSegmentCode: ["LEISURE", "CORPORATE", "OTA"][place % 3],
            currencyCode: "EUR",
            rates: [
              {
                startDate: addDays(today, 3 * place + shift),
                endDate: addDays(today, 3 * place + 2 + shift),
                rateValue: "119.50",
                grossRateValue: "126.67",
              },
            ],
          },
        ],
      })),
    ),
  };
}

/** A service with this many properties whose figures are computed. */
async function startFilled(properties: number) {
  const started = await startService("console");
  const { service, client, database } = started;
  const startedAt = Date.now();
  const codes = Array.from({ length: properties }, (_, place) => `H${String(place).padStart(5, "0")}`);
  for (let first = 0; first < properties; first += PROPERTIES_A_BATCH) {
    const of = codes.slice(first, first + PROPERTIES_A_BATCH).map(recordsOf);
    for (const resource of ["inventories", "reservations"] as const) {
      const answer = await fetch(`http://127.0.0.1:${service.port}/api/public/v1/${resource}`, {
        method: "POST",
        headers: { authorization: `Bearer ${service.token}`, "content-type": "application/json" },
        body: JSON.stringify(of.flatMap((records) => records[resource])),
      });
      if (answer.status !== 202) throw new Error(await answer.text());
    }
  }
  await untilDrained(client, startedAt);
  const pool = new pg.Pool({ ...database, max: 4 });
  await createOperator({ pool, who: "cli:bench" }, values.operator, PASSWORD, {});
  await refreshFigures(pool);
  await pool.end();
  return { address: `http://127.0.0.1:${service.port}`, stop: started.stop };
}

/** Prints response times in milliseconds. */
async function askPortfolio(page: Page, address: string): Promise<void> {
  const cookie = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join("; ");
  const all: number[] = [];
  for (const question of QUESTIONS) {
    const times: number[] = [];
    let bytes = 0;
    for (let round = -WARM_UP; round < ROUNDS; round += 1) {
      const startedAt = performance.now();
      const answer = await fetch(`${address}/console/api/${question}`, { headers: { cookie } });
      bytes = (await answer.arrayBuffer()).byteLength;
      if (answer.status !== 200) throw new Error(`${question}: ${answer.status}`);
      if (round >= 0) times.push(performance.now() - startedAt);
    }
    all.push(...times);
    console.log(`${question}: ${timesOf(times)}, ${(bytes / 1024).toFixed(0)} kB`);
  }
  console.log(`portfolio and its report, all questions: ${timesOf(all)}`);
}

function timesOf(times: readonly number[]): string {
  const [p50, p95, most] = [median(times), percentile(times, 0.95), percentile(times, 1)];
  return `p50 ${p50.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms, at most ${most.toFixed(0)} ms`;
}

/** Records the browser's input timing, which has a resolution of 16 ms. */
const OBSERVE = `(() => {
  globalThis.inputs = [];
  new PerformanceObserver((list) => {
    for (const { interactionId, duration } of list.getEntries()) if (interactionId > 0) inputs.push(duration);
  }).observe({ type: "event", durationThreshold: 16 });
})()`;
const REPORT_MS = 300;

type Act = readonly [name: string, act: (page: Page) => Promise<unknown>];

const ofPortfolio: readonly Act[] = [
  ["portfolio, 90 nights", (page) => page.getByText("90 nights", { exact: true }).click()],
  ["portfolio, sort by revenue", (page) => page.getByRole("link", { name: "Revenue" }).click()],
  ["portfolio, sort by occupancy", (page) => page.getByRole("link", { name: "Occupancy" }).click()],
  ["portfolio, search", (page) => page.getByLabel("Code, name or city").pressSequentially("0")],
  ["portfolio, attention", (page) => page.getByLabel("Attention").selectOption("any")],
  ["portfolio, next row", (page) => page.locator("h1").press("j")],
  ["open a property", (page) => page.locator("tbody .lead-cell a").first().click()],
];
const tab = (name: string): Act => [
  `to ${name}`,
  (page) => page.getByRole("link", { name, exact: true }).click(),
];
const ofProperty: readonly Act[] = [
  tab("On the books"),
  ["on the books, revenue", (page) => page.getByText("Revenue", { exact: true }).first().click()],
  ["on the books, a night", (page) => page.locator("tbody a").nth(3).click()],
  ["close the night", (page) => page.getByRole("button", { name: "Close this night" }).click()],
  ["on the books, along the chart", (page) => page.getByRole("slider").press("ArrowRight")],
  tab("Pace"),
  ["pace, view as table", (page) => page.getByText("View as table").click()],
  tab("Pickup"),
  ["pickup, revenue", (page) => page.getByText("Revenue", { exact: true }).click()],
  tab("Blocks"),
  tab("Reconciliation"),
  ["reconciliation, all nights", (page) => page.getByText("All", { exact: true }).first().click()],
  ["reconciliation, a night", (page) => page.locator("main .opener").last().click()],
  tab("Data health"),
  tab("Overview"),
];

/** Prints the longest time from input to paint in milliseconds over several rounds. */
async function measureInputs(page: Page, address: string): Promise<void> {
  await page.addInitScript(OBSERVE);
  const longest = new Map<string, number>();
  for (let round = 0; round < 3; round += 1) {
    await page.goto(`${address}/console/`);
    await settled(page);
    for (const [name, act] of [...ofPortfolio, ...ofProperty]) {
      await page.evaluate("inputs.length = 0");
      await act(page);
      await page.waitForLoadState("networkidle");
      await settled(page);
      await page.waitForTimeout(REPORT_MS);
      const inputs = await page.evaluate<number[]>("inputs");
      longest.set(name, Math.max(longest.get(name) ?? 0, ...inputs));
    }
  }
  for (const [name, ms] of longest) console.log(`${name}: ${ms === 0 ? "under 16" : ms} ms`);
  console.log(`longest input: ${Math.max(...longest.values())} ms`);
}

console.log(machineLine(machineOf()));
const service =
  values.url === undefined
    ? await startFilled(Number(values.properties))
    : { address: values.url, stop: async () => undefined };
const browser = await openBrowser();
try {
  const { page } = await openWindow(browser, {});
  await page.goto(`${service.address}/console/`);
  await logInByHand(page, values.operator, PASSWORD);
  await page.getByRole("heading", { name: "Portfolio" }).waitFor();
  await askPortfolio(page, service.address);
  await measureInputs(page, service.address);
} finally {
  await browser.close();
  await service.stop();
}
