import { Applier, type ApplierOptions } from "../../src/apply/applier.ts";
import { PropertyDirectory } from "../../src/apply/backlog.ts";
import { LeaseLost } from "../../src/apply/leases.ts";
import { type ApplySessionParts, applySessions } from "../../src/apply/postgres-apply-session.ts";
import { type Appliers, ServerAppliers } from "../../src/apply/server-appliers.ts";
import { AcceptLog } from "../../src/ingest/log/accept-log.ts";
import { PropertyRegister } from "../../src/ingest/log/property-register.ts";
import type { Submission } from "../../src/ingest/log/submission.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { untilFound } from "./until.ts";

type TestRecord = Readonly<Record<string, unknown>>;

/** A reservation of one night; `content` is what distinguishes one content from another. */
export function reservation(
  id: string,
  sourceTime: string,
  content: string,
  propertyCode = "LON01",
): TestRecord {
  return {
    clientCode: "ACME",
    propertyCode,
    lastModifiedDateTime: sourceTime,
    reservationId: id,
    status: "CONFIRMED",
    channel: content,
    roomStays: [{ arrivalDate: "2026-05-01", departureDate: "2026-05-02", roomTypeCode: "DLX" }],
  };
}

/** A batch as http hands it to accept: already checked. */
export function submissionOf(
  records: readonly TestRecord[],
  options: { resource?: "i" | "r" | "g"; clientId?: string } = {},
): Submission {
  const texts = records.map((record) => JSON.stringify(record));
  const body = Buffer.from(`[${texts.join(",")}]`);
  let at = 1;
  const slices = texts.map((text, index) => {
    const start = at;
    const end = start + Buffer.byteLength(text);
    at = end + 1;
    const { clientCode, propertyCode } = records[index] as { clientCode: string; propertyCode: string };
    return { index, start, end, clientCode, propertyCode };
  });
  return {
    clientId: options.clientId ?? "tester",
    resource: options.resource ?? "r",
    body,
    records: slices,
    rejected: [],
    lenient: false,
    correlationId: null,
    replyTo: null,
    idempotency: null,
  };
}

/** Accept and apply on a database of their own, without HTTP. */
export class ApplyBench {
  readonly database: TestDatabase;
  readonly log: AcceptLog;
  readonly properties: PropertyRegister;
  readonly failures: unknown[] = [];
  /** The rows of the night ledger of each batch applied, as appliers report them. */
  readonly rowsEntered: number[] = [];
  #applier: Appliers | undefined;

  private constructor(database: TestDatabase, log: AcceptLog) {
    this.database = database;
    this.log = log;
    this.properties = new PropertyRegister(database.pool, 100_000);
  }

  /** `prepare` sees the database before the first log writer is born. */
  static async open(writers = 1, prepare?: (database: TestDatabase) => Promise<void>): Promise<ApplyBench> {
    const database = await createTestDatabase();
    await prepare?.(database);
    return new ApplyBench(database, await AcceptLog.open(database.clientConfig, writers, {}));
  }

  newApplier(
    owner: string,
    more: Pick<Partial<ApplierOptions>, "blocked" | "siblings" | "time"> = {},
  ): Appliers {
    return this.#atEachServer(owner, (sessions) => {
      return new Applier({ ...this.#options(owner), openSession: applySessions(sessions), ...more });
    });
  }

  /** As a thread of the service does it. */
  startApplier(): void {
    this.#applier = this.#atEachServer("bench", (sessions) => {
      return new Applier({ ...this.#options("bench"), openSession: applySessions(sessions) });
    });
    this.#applier.start();
  }

  #atEachServer(owner: string, appliersOn: (sessions: ApplySessionParts) => Appliers): Appliers {
    return new ServerAppliers({
      clientConfig: this.database.clientConfig,
      owner,
      appliersAt: (server) =>
        appliersOn(server === undefined ? this.#sessions() : { ...this.#sessions(), server }),
      failed: (error) => this.failures.push(error),
    });
  }

  #sessions(): ApplySessionParts {
    return {
      clientConfig: this.database.clientConfig,
      pool: this.database.pool,
      properties: new PropertyDirectory(this.database.pool),
      entered: (_clientId, _records, rows) => this.rowsEntered.push(rows),
    };
  }

  #options(owner: string) {
    const events = { failed: (error: unknown) => this.failures.push(error) };
    return { owner, pollMs: 20, events };
  }

  /** But for an applier that noticed only when it next applied that a swap, an erasure or an import had ended its lease. */
  get failuresWithinLeases(): readonly unknown[] {
    return this.failures.filter((failure) => !(failure instanceof LeaseLost));
  }

  async stopApplier(): Promise<void> {
    await this.#applier?.stop();
    this.#applier = undefined;
  }

  async accept(records: readonly TestRecord[], resource: "i" | "r" | "g" = "r"): Promise<string> {
    const submission = submissionOf(records, { resource });
    await this.properties.register(submission.clientId, submission.records);
    return (await this.log.append(submission)).requestId;
  }

  /** Waits for a request to be applied; its outcome letters, in the order of the batch when it names one property. */
  async outcomesOf(requestId: string): Promise<string> {
    return untilFound(async () => {
      const { rows } = await this.database.pool.query<{ outcomes: string }>(
        "select outcomes from bellhop.request_outcome where request_id = $1",
        [requestId],
      );
      return rows[0]?.outcomes;
      // A rebuilt state that is swapped in holds appliers up.
    }, 60_000);
  }

  async acceptAndApply(records: readonly TestRecord[], resource: "i" | "r" | "g" = "r"): Promise<string> {
    return this.outcomesOf(await this.accept(records, resource));
  }

  async rows<Row>(sql: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.database.pool.query(sql, values)).rows as Row[];
  }

  async close(): Promise<void> {
    await this.stopApplier();
    await this.log.close();
    await this.database.drop();
  }
}
