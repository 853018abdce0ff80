import { Agent, request } from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import { inventoryRecord } from "../../support/records.ts";

const RECORDS = 20;
/** Below the limits of a source address at the proxy, which all senders here share. */
const SENDERS = 10;
const PAUSE_MS = 50;

export interface Answered {
  readonly status: number;
  readonly body: string;
}

/** What was answered under load. */
export interface LoadReport {
  readonly ids: readonly string[];
  /** Other answers than 202 and failed connections, by what they were. */
  readonly others: ReadonlyMap<string, number>;
  /** Longest time between two answers of 202, of all senders. */
  readonly gapMs: number;
  readonly p99Ms: number;
}

/** A partner that reaches the service through the proxy, by https. */
export class Partner {
  readonly #agent: Agent;
  #token = "";
  #sent = 0;

  constructor(certificate: string) {
    this.#agent = new Agent({ ca: certificate, keepAlive: true, maxSockets: 64 });
  }

  async authenticate(id: string, secret: string): Promise<void> {
    const form = new URLSearchParams({
      grant_type: "client_credentials",
      client_id: id,
      client_secret: secret,
    });
    const { body } = await this.ask(
      "POST",
      "/api/oauth2/token",
      String(form),
      "application/x-www-form-urlencoded",
    );
    this.#token = (JSON.parse(body) as { access_token: string }).access_token;
  }

  ask(method: string, path: string, body?: string, type = "application/json"): Promise<Answered> {
    const authorization = this.#token === "" ? {} : { authorization: `Bearer ${this.#token}` };
    const length =
      body === undefined ? {} : { "content-type": type, "content-length": Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      const asked = request(
        {
          host: "127.0.0.1",
          port: 443,
          servername: "localhost",
          agent: this.#agent,
          method,
          path,
          headers: {
            host: "localhost",
            accept: path.startsWith("/api/public/") && method === "POST" ? "text/plain" : "application/json",
            ...authorization,
            ...length,
          },
        },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (part: string) => {
            text += part;
          });
          response.once("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
          response.once("error", reject);
        },
      );
      asked.once("error", reject);
      asked.end(body);
    });
  }

  /** Sends a batch of records that no other has. */
  async push(): Promise<Answered> {
    const batch = this.#sent++;
    const records = Array.from({ length: RECORDS }, (_, at) =>
      inventoryRecord({
        propertyCode: `P${batch % 50}`,
        occupancyDate: new Date(Date.UTC(2027, 0, 1 + at + RECORDS * Math.floor(batch / 50)))
          .toISOString()
          .slice(0, 10),
      }),
    );
    return await this.ask("POST", "/api/public/v1/inventories", JSON.stringify(records));
  }

  async stateOf(id: string): Promise<string> {
    const { status, body } = await this.ask("GET", `/api/public/v1/requests/${id}`);
    if (status !== 200) throw new Error(`request ${id} was answered ${status}: ${body}`);
    return (JSON.parse(body) as { status: string }).status;
  }

  /** Sends batches from several connections until told to stop. */
  async load(enough: AbortSignal): Promise<LoadReport> {
    const ids: string[] = [];
    const others = new Map<string, number>();
    const answered: number[] = [performance.now()];
    const took: number[] = [];
    const sendOne = async () => {
      const startedAt = performance.now();
      const answer = await this.push().catch((error: Error) => ({ status: 0, body: error.message }));
      if (answer.status === 202) {
        ids.push(answer.body.trim());
        answered.push(performance.now());
        took.push(performance.now() - startedAt);
      } else {
        const what = answer.status === 0 ? answer.body : String(answer.status);
        others.set(what, (others.get(what) ?? 0) + 1);
      }
    };
    const sender = async () => {
      while (!enough.aborted) {
        await sendOne();
        await delay(PAUSE_MS);
      }
    };
    await Promise.all(Array.from({ length: SENDERS }, sender));
    const gapMs = Math.max(0, ...answered.slice(1).map((at, index) => at - (answered[index] ?? at)));
    const sorted = took.toSorted((left, right) => left - right);
    return { ids, others, gapMs, p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0 };
  }

  close(): void {
    this.#agent.destroy();
  }
}
