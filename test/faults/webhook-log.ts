import { createHash } from "node:crypto";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import type { SeededRandom } from "../workload/seeded-random.ts";

/** An answer takes so long at most: long enough that many a kill falls between a message and its answer. */
const ANSWER_MS_MAX = 40;

interface RequestMessage {
  readonly requestId: string;
  readonly status: string;
}

interface ChangesMessage {
  readonly changes: readonly { readonly record: object }[];
}

/**
 * A partner's server that takes webhooks, verifies them, and keeps what it received: which requests are applied, and each change as a
 * line of `kept`, in the order in which the messages came first (as `checkFeed` reads them).
 */
export class WebhookLog {
  readonly problems: string[] = [];
  /** Messages that had not come before. */
  messages = 0;
  /** Messages that came again, and of those of changes how many after a later one. */
  repeats = 0;
  lateRepeats = 0;
  changes = 0;
  readonly requests = new Set<string>();
  readonly address: string;
  readonly #server: Server;
  readonly #random: SeededRandom;
  readonly #kept: string;
  readonly #bodies = new Map<string, string>();
  readonly #webhooks = new Map<string, Webhook>();
  /** The message of changes that came last of those that had not come before. */
  #newest: string | undefined;

  private constructor(server: Server, kept: string, random: SeededRandom) {
    this.#server = server;
    this.#kept = kept;
    this.#random = random;
    this.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      // A connection that a kill cut off brought nothing.
      this.#take(request, response).catch(() => response.destroy());
    });
  }

  static async start(kept: string, random: SeededRandom): Promise<WebhookLog> {
    const server = createServer();
    await once(server.listen(0, "127.0.0.1"), "listening");
    return new WebhookLog(server, kept, random);
  }

  /** What comes to this path is signed with this secret. */
  expect(path: string, secret: string): void {
    this.#webhooks.set(path, new Webhook(secret));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = (await buffer(request)).toString("utf8");
    const headers = request.headers as Record<string, string>;
    try {
      this.#webhooks.get(request.url ?? "")?.verify(body, headers);
    } catch (error) {
      this.problems.push(`a message that cannot be verified: ${String(error)}`);
    }
    this.#keep(headers["webhook-id"] ?? "", body);
    await delay(this.#random.between(0, ANSWER_MS_MAX));
    response.writeHead(204).end();
  }

  #keep(id: string, body: string): void {
    const digest = createHash("sha256").update(body).digest("base64url");
    const before = this.#bodies.get(id);
    const { type, data } = JSON.parse(body) as { readonly type: string; readonly data: unknown };
    if (before !== undefined) {
      this.repeats += 1;
      if (before !== digest) this.problems.push(`${id} came again and says something else`);
      if (type === "changes.available" && this.#newest !== id) this.lateRepeats += 1;
      return;
    }
    this.#bodies.set(id, digest);
    this.messages += 1;
    if (type === "request.applied") this.#keepRequest(data as RequestMessage);
    else if (type === "changes.available") this.#keepChanges(id, data as ChangesMessage);
  }

  #keepRequest({ requestId, status }: RequestMessage): void {
    if (status !== "applied") this.problems.push(`${requestId} was reported as ${status}`);
    if (this.requests.has(requestId)) this.problems.push(`${requestId} was reported by two messages`);
    this.requests.add(requestId);
  }

  #keepChanges(id: string, { changes }: ChangesMessage): void {
    this.#newest = id;
    this.changes += changes.length;
    const lines = changes.map(({ record, ...change }) => {
      const content = JSON.stringify({ ...record, correlationId: undefined });
      const digest = createHash("sha256").update(content).digest("hex").slice(0, 24);
      return `${JSON.stringify({ ...change, digest })}\n`;
    });
    appendFileSync(this.#kept, lines.join(""));
  }
}
