import { Agent, type IncomingMessage, request as requestInTheClear } from "node:http";
import { request, Agent as SecureAgent } from "node:https";
import { setTimeout as delay } from "node:timers/promises";

/** OTEL_EXPORTER_OTLP_TIMEOUT's default. */
const ANSWER_MS_MAX = 10_000;
const TRIES_MAX = 3;
const FIRST_PAUSE_MS = 500;
/** A collector that is busy, or a proxy in front of one that is away (OTLP specification, "Retryable Response Codes"). */
const TO_REPEAT: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** The collector answered something else than 2xx. */
class RefusedExport extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`The collector answered ${status}.`);
    this.status = status;
  }
}

/** Posts OTLP messages to one address of a collector (OTLP specification, "OTLP/HTTP"), one message at a time, on one connection that is kept. */
export class OtlpSender {
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #agent: Agent;
  readonly #stopping = new AbortController();

  constructor(url: URL, headers: Readonly<Record<string, string>>) {
    this.#url = url;
    this.#headers = headers;
    this.#agent = new (url.protocol === "https:" ? SecureAgent : Agent)({ keepAlive: true, maxSockets: 1 });
  }

  /** Tries up to three times what may be tried again. Throws RefusedExport, or what the connection says. */
  async send(bytes: Buffer, mediaType: "application/json" | "application/x-protobuf"): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        const status = await this.#post(bytes, mediaType);
        if (status >= 200 && status < 300) return;
        throw new RefusedExport(status);
      } catch (error) {
        const isFinal = error instanceof RefusedExport && !TO_REPEAT.has(error.status);
        if (isFinal || tries === TRIES_MAX || this.#stopping.signal.aborted) throw error;
        const { signal } = this.#stopping;
        await delay(FIRST_PAUSE_MS * 2 ** (tries - 1), undefined, { ref: false, signal });
      }
    }
  }

  /** Ends what is under way. */
  close(): void {
    this.#stopping.abort();
    this.#agent.destroy();
  }

  #post(bytes: Buffer, mediaType: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const ask = this.#url.protocol === "https:" ? request : requestInTheClear;
      const sending = ask(
        this.#url,
        {
          method: "POST",
          agent: this.#agent,
          signal: AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(ANSWER_MS_MAX)]),
          headers: {
            ...this.#headers,
            "content-type": mediaType,
            "content-length": bytes.length,
            "user-agent": "Bellhop-OTLP/1",
          },
        },
        (response: IncomingMessage) => {
          // Its words are for its own log.
          response.resume();
          response.on("error", reject);
          response.on("end", () => {
            // Whoever answers before it has all is sent no more: the memory of the message is used again.
            if (!sending.writableFinished) sending.destroy();
            resolve(response.statusCode ?? 0);
          });
        },
      );
      sending.on("error", reject);
      sending.end(bytes);
    });
  }
}
