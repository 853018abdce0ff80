/**
 * Shifts the service's wall clock: `Date` in every thread is off by the milliseconds in a file. With `database=1`,
 * applying sessions also use the clock of `stepped-database.ts`. Loaded in each thread by `--import
 * shift-clock.ts?file=<path>`.
 */
import { readFileSync } from "node:fs";
import pg from "pg";
import { STEPPED_PATH } from "./stepped-database.ts";

const LOOK_MS = 20;

const { searchParams } = new URL(import.meta.url);
const file = searchParams.get("file") ?? "";
let shiftMs = 0;

function look(): void {
  try {
    shiftMs = Number(readFileSync(file, "utf8"));
  } catch {
    shiftMs = 0;
  }
}

if (file !== "") {
  const RealDate = Date;
  look();
  setInterval(look, LOOK_MS).unref();
  globalThis.Date = class extends RealDate {
    constructor(...given: []) {
      if (given.length === 0) super(RealDate.now() + shiftMs);
      else super(...given);
    }

    static override now(): number {
      return RealDate.now() + shiftMs;
    }
  } as DateConstructor;
}

if (searchParams.get("database") === "1") {
  const query = pg.Client.prototype.query as (this: pg.Client, ...args: unknown[]) => unknown;
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [text] = args;
    if (typeof text === "string")
      args[0] = text.replace(/^(\s*set search_path = \w+);/, `$1, ${STEPPED_PATH};`);
    return query.apply(this, args);
  } as typeof pg.Client.prototype.query;
}
