import type pg from "pg";
import { spanText } from "../../../cli/amounts.ts";
import { type Check, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

const READINGS = 5;
const APART_SECONDS_MAX = 2;
/** What goes by the minute goes wrong: codes of webhooks are good for five, records of ten ahead are held aside. */
const FAR_APART_SECONDS = 60;

interface Difference {
  /** Of the database's clock from this machine's, in seconds; the error is half of the way there and back. */
  readonly seconds: number;
  readonly wayMs: number;
}

async function compare(pool: pg.Pool): Promise<Difference> {
  const askedAt = performance.now();
  const before = Date.now();
  const { rows } = await pool.query<{ now: number }>(
    "select (extract(epoch from clock_timestamp()) * 1000)::float8 as now",
  );
  const wayMs = performance.now() - askedAt;
  return { seconds: ((rows[0]?.now ?? Number.NaN) - (before + wayMs / 2)) / 1000, wayMs };
}

/** This machine's clock against the database's, by which everything is decided. */
export const clock: Check<DatabaseSubject> = {
  name: "clock",
  async run({ database: { pool } }) {
    const id = "clock.difference";
    const readings: Difference[] = [];
    for (let reading = 0; reading < READINGS; reading += 1) readings.push(await compare(pool));
    const { seconds, wayMs } = readings.reduce((best, reading) =>
      reading.wayMs < best.wayMs ? reading : best,
    );
    const apart = Math.max(0, Math.abs(seconds) - wayMs / 2000);
    if (apart <= APART_SECONDS_MAX)
      return [fine(id, `This machine's clock and the database's agree to ${spanText(apart)}.`)];
    return [
      trouble(apart > FAR_APART_SECONDS ? "fail" : "warn", id, {
        says: `The database's clock is ${spanText(apart)} ${seconds > 0 ? "ahead of" : "behind"} this machine's.`,
        means:
          "One of them is wrong. Tokens, times of receipt and what is held aside go by the database's, the log and webhooks' times by this one.",
        advice: "Look at both against a time server (timedatectl, chronyc tracking), and let NTP keep them.",
      }),
    ];
  },
};
