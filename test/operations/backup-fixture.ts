import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { groupRecord, inventoryRecord, reservationRecord } from "../support/records.ts";
import type { TestService } from "../support/service.ts";
import { unappliedParts } from "../support/unapplied-parts.ts";
import { until } from "../support/until.ts";

const WAIT_MS = 60_000;

const secondsAgo = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();

/** A batch of reservations of many keys and few properties, or every other time of one, some of them older than what is current. */
function batchOf(round: number): object[] {
  return Array.from({ length: 20 }, (_, index) =>
    reservationRecord({
      propertyCode: `P${(round + (round % 2) * index) % 6}`,
      reservationId: `R${(round * 7 + index) % 90}`,
      lastModifiedDateTime: secondsAgo(5_000 - ((round * 13 + index * 31) % 4_000)),
      channel: `round ${round % 5}`,
      guestNationality: "FR",
    }),
  );
}

/** Keeps sending until it is stopped; what was answered 202 is in `accepted`. */
export class Load {
  readonly accepted: string[] = [];
  #stopped = false;
  readonly #running: Promise<void>;

  constructor(service: TestService) {
    this.#running = this.#send(service);
  }

  async #send(service: TestService): Promise<void> {
    for (let round = 0; !this.#stopped; round += 1) {
      const answer = await service.post("reservations", batchOf(round));
      if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`);
      this.accepted.push(String(answer.json()["requestId"]));
      // Something waits to be applied at all times, and never more than is applied in moments.
      if (round % 10 === 9) await until(async () => (await unappliedParts(service.database)) < 40, WAIT_MS);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }
}

/** One of everything that a restore has to bring back. */
export async function sendOneOfEach(service: TestService): Promise<void> {
  const post = async (resource: string, body: object, headers: Record<string, string> = {}) => {
    const answer = await service.post(resource, body, { headers });
    if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`);
  };
  await post("inventories", [inventoryRecord(), inventoryRecord({ occupancyDate: "2026-03-11" })]);
  await post("groups", [groupRecord()], { "idempotency-key": "group-once" });
  await post("reservations", [reservationRecord({ reservationId: "SHARED", status: "WALK IN" })]);
  // Quarantined, as it is of the future.
  await post("reservations", [
    reservationRecord({ reservationId: "LATER", lastModifiedDateTime: secondsAgo(-86_400) }),
  ]);
  await post("reservations", [reservationRecord(), { ...reservationRecord(), reservationId: 7 }], {
    prefer: "handling=lenient",
  });
}

/** A process of its own that says lines, to be killed in the middle of what it does. */
export class HeldProcess {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  /** `code` is a module's text; it gets `values` as JSON in process.argv[1]. */
  constructor(code: string, values: object) {
    this.#child = spawn(process.execPath, ["--input-type=module", "--eval", code, JSON.stringify(values)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (this.#child.stdout === null) throw new Error("no output");
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** The next line it says. */
  async said(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error("The process ended without a word.");
    return value;
  }

  async kill(): Promise<void> {
    if (this.#child.signalCode !== null) return;
    const exit = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exit;
  }
}
