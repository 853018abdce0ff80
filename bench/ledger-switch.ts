import pg from "pg";
import { KeptLedger, NightLedger } from "../src/apply/ledger/night-ledger.ts";

let isOn = true;

/** Has what applies in this process keep the stay-night ledger, or not. */
export function switchLedger(on: boolean): void {
  isOn = on;
}

/** Without the ledger nothing is entered, and the nights that it takes off the books are not asked for. Once a process. */
export function makeLedgerSwitchable(): void {
  const { enter, latestReleases } = NightLedger.prototype;
  const kept = KeptLedger.prototype;
  NightLedger.prototype.enter = function (...of) {
    return isOn ? enter.apply(this, of) : kept.enter.call(this);
  };
  NightLedger.prototype.latestReleases = function (...of) {
    return isOn ? latestReleases.apply(this, of) : kept.latestReleases.call(this);
  };
  const query: unknown = Reflect.get(pg.Client.prototype, "query");
  Reflect.set(pg.Client.prototype, "query", function (this: pg.Client, asked: unknown, ...rest: unknown[]) {
    const statement = isOn ? asked : withoutNights(asked);
    return Reflect.apply(query as () => unknown, this, [statement, ...rest]);
  });
}

function withoutNights(asked: unknown): unknown {
  const { name, text } = asked as { readonly name?: string; readonly text?: string };
  if (name !== "advance-unchanged-r" || text === undefined) return asked;
  const without = text.replace("t.brief_nights, null", "null, null");
  if (without === text) throw new Error(`The nights are asked for otherwise now: ${text}`);
  return { ...(asked as object), name: "advance-without-nights", text: without };
}
