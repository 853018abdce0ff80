/**
 * `node bench/ledger-price.ts [--records 4000] [--rounds 24]`: what the stay-night ledger costs apply (docs/decisions/0020), a
 * record of changed reservations. A backlog is drained by one applier round after round, with the ledger and without in turn.
 */
import { readFileSync } from "node:fs";
import pg from "pg";
import { readOptions } from "../scripts/read-options.ts";
import { AcceptLog } from "../src/accept/accept-log.ts";
import { PropertyRegister } from "../src/accept/property-register.ts";
import { Applier } from "../src/apply/applier.ts";
import { applySessions } from "../src/apply/postgres-apply-session.ts";
import { PropertyDirectory } from "../src/apply/property-directory.ts";
import { KeptLedger, NightLedger } from "../src/ledger/night-ledger.ts";
import { submissionOf } from "../test/support/apply-bench.ts";
import { createTestDatabase } from "../test/support/database.ts";
import { machineLine, machineOf } from "./machine.ts";
import { CLIENT_CODE, recordTemplates } from "./record-templates.ts";
import { median } from "./statistics.ts";

const USAGE = `node bench/ledger-price.ts [--records 4000] [--rounds 24]

What the stay-night ledger costs apply, microseconds of CPU a record: reservations of which nothing of the nights changes, a
price, a rate code, the status. Linux only.

  --records N   reservations, each of them changed in every round
  --rounds N    of each kind, the ledger on and off in turn, after six that are not counted`;

const values = readOptions(USAGE, {
  records: { type: "string", default: "4000" },
  rounds: { type: "string", default: "24" },
});

const RECORDS = Number(values.records);
const ROUNDS = Number(values.rounds);
const RECORDS_A_BATCH = 100;
const RECORDS_A_HOTEL = 500;
/** The sources are compiled while these run. */
const WARM_UP = 6;
const RATE_CODES = 7;
const HOUR_MS = 3_600_000;
const LOOK_MS = 2;

interface Reservation {
  readonly status: string;
  readonly confirmationNumber: string;
  readonly roomStays: readonly [{ readonly rateCode?: string; readonly rates?: readonly object[] }];
  readonly stayRevenue?: {
    readonly daily?: readonly object[];
    readonly summary?: object;
  };
}

/** Amounts under these names are so much more: prices and the sums that are told of them alike, or there would be warnings. */
const RAISED =
  /^(rateValue|grossRateValue|netRoomRevenue|netTicketPrice|ticketPrice|netTotalRevenue|grossTotalRevenue)$/;
const RAISED_SUMS = /^(netTotalTicketRevenue|totalTicketRevenue)$/;

function raised<Of extends object>(of: Of, names: RegExp, by: number): Of {
  const more = Object.entries(of).map(([name, value]) =>
    names.test(name) && value !== null ? [name, (Number(value) + by).toFixed(2)] : [name, value],
  );
  return Object.fromEntries(more) as Of;
}

function atOtherPrice(reservation: Reservation, by: number): Reservation {
  const [stay] = reservation.roomStays;
  const { daily = [], summary, ...rest } = reservation.stayRevenue ?? {};
  return {
    ...reservation,
    roomStays: [{ ...stay, rates: (stay.rates ?? []).map((rate) => raised(rate, RAISED, by)) }],
    stayRevenue: {
      ...rest,
      daily: daily.map((day) => raised(day, RAISED, by)),
      ...(summary === undefined ? {} : { summary: raised(summary, RAISED_SUMS, by * daily.length) }),
    },
  };
}

/** What the nth reservation says in a round, by what changes from one to the next. */
const CHANGES: Readonly<Record<string, (of: Reservation, at: number, round: number) => Reservation>> = {
  "nothing of its nights": (of, at, round) => ({ ...of, confirmationNumber: `C${at}-${round}` }),
  "a price": (of, _, round) => atOtherPrice(of, round),
  "a rate code": (of, at, round) => ({
    ...of,
    roomStays: [{ ...of.roomStays[0], rateCode: `RATE${(at + round) % RATE_CODES}` }],
  }),
  "the status": (of, _, round) => ({ ...of, status: round % 2 === 0 ? "CONFIRMED" : "CHECKED_IN" }),
};

const templates = recordTemplates("reservations");

function recordsOf(what: string, round: number): Readonly<Record<string, unknown>>[] {
  return Array.from({ length: RECORDS }, (_, at) => ({
    ...CHANGES[what]?.(JSON.parse(templates[at % templates.length] ?? "") as Reservation, at, round),
    clientCode: CLIENT_CODE,
    propertyCode: `H${Math.floor(at / RECORDS_A_HOTEL)}`,
    correlationId: `c-${round}`,
    reservationId: `R${at}`,
    lastModifiedDateTime: new Date(Date.UTC(2020, 0, 1) + round * HOUR_MS).toISOString(),
  }));
}

let isOn = true;

/** Without the ledger nothing is entered, and the facts that it takes off the books are not asked for. */
function makeSwitchable(): void {
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
    const statement = isOn ? asked : withoutFacts(asked);
    return Reflect.apply(query as () => unknown, this, [statement, ...rest]);
  });
}

function withoutFacts(asked: unknown): unknown {
  const { name, text } = asked as { readonly name?: string; readonly text?: string };
  if (name !== "advance-unchanged-r" || text === undefined) return asked;
  const without = text
    .replace("replaced.facts", "null")
    .replace(/left join reservation_version as replaced[\s\S]*?t\.content_hash$/m, "");
  if (without.includes("replaced")) throw new Error(`The facts are asked for otherwise now: ${without}`);
  return { ...(asked as object), name: "advance-without-facts", text: without };
}

interface Cost {
  readonly isOn: boolean;
  readonly node: number;
  readonly postgres: number;
}

/** The CPU of the process that applies, in microseconds: what /proc counts in hundredths of a second is too coarse. */
function backendMicroseconds(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, "latin1").split(" ")[0]) / 1_000;
}

async function measure(what: string): Promise<Cost[]> {
  const database = await createTestDatabase();
  const log = await AcceptLog.open(database.clientConfig, 1, {});
  const properties = new PropertyRegister(database.pool, 100_000);
  let backend = 0;
  let isFilling = true;
  let applied = 0;
  const applier = new Applier({
    owner: "ledger-price",
    pollMs: 20,
    blocked: () => (isFilling ? "filling" : undefined),
    events: {
      failed: (error) => console.error(error),
      applied: (counts) => {
        for (const count of Object.values(counts)) applied += count;
      },
    },
    openSession: applySessions({
      clientConfig: database.clientConfig,
      pool: database.pool,
      properties: new PropertyDirectory(database.pool),
      connected: (pid) => {
        backend = pid;
      },
    }),
  });
  applier.start();
  const costs: Cost[] = [];
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    isOn = round % 2 === 0;
    isFilling = true;
    const records = recordsOf(what, round);
    for (let at = 0; at < records.length; at += RECORDS_A_BATCH) {
      const submission = submissionOf(records.slice(at, at + RECORDS_A_BATCH));
      await properties.register(submission.clientId, submission.records);
      await log.append(submission);
    }
    applied = 0;
    const [node, postgres] = [process.cpuUsage(), backendMicroseconds(backend)];
    isFilling = false;
    applier.lookNow();
    await drained(() => applied >= RECORDS);
    const { user, system } = process.cpuUsage(node);
    if (round < WARM_UP) continue;
    const ofBackend = backendMicroseconds(backend) - postgres;
    costs.push({ isOn, node: (user + system) / RECORDS, postgres: ofBackend / RECORDS });
  }
  await applier.stop();
  await log.close();
  await database.drop();
  return costs;
}

function drained(isDrained: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (!isDrained()) return;
      clearInterval(timer);
      resolve();
    }, LOOK_MS);
  });
}

function lineOf(what: string, costs: readonly Cost[]): string {
  const sorted = (on: boolean, by: (cost: Cost) => number) =>
    costs
      .filter((cost) => cost.isOn === on)
      .map(by)
      .sort((left, right) => left - right);
  const whole = ({ node, postgres }: Cost) => node + postgres;
  const kept = (of: (sums: readonly number[]) => number) =>
    `${Math.round((100 * of(sorted(false, whole))) / of(sorted(true, whole)))} %`;
  const shown = (on: boolean) => {
    const [node, postgres] = [sorted(on, (cost) => cost.node), sorted(on, (cost) => cost.postgres)];
    return `${median(node).toFixed(1)} + ${median(postgres).toFixed(1)}`;
  };
  const share = `kept ${kept(median)}, by the least of the rounds ${kept((sums) => sums[0] ?? 0)}`;
  return `${what}: off ${shown(false)}, on ${shown(true)} µs of Node and PostgreSQL, ${share}`;
}

makeSwitchable();
console.log(machineLine(machineOf()));
for (const what of Object.keys(CHANGES)) console.log(lineOf(what, await measure(what)));
