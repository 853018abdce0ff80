import type { MetricValues } from "../metrics.ts";
import { metricsJson, type Speaker } from "./json.ts";
import { metricsOf } from "./metrics-json.ts";
import { OtlpSender } from "./sender.ts";

const STOP_MS = 1_000;

export interface MetricExporterOptions {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly intervalMs: number;
  readonly speaker: Speaker;
  /** The metrics of the whole process. */
  read(): Promise<MetricValues>;
  failed(error: unknown): void;
}

/** Sends the metrics of a process to the collector, now and again and a last time as it stops. */
export class MetricExporter {
  readonly #options: MetricExporterOptions;
  readonly #sender: OtlpSender;
  readonly #timer: NodeJS.Timeout;
  #sending: Promise<void> | undefined;

  constructor(options: MetricExporterOptions) {
    this.#options = options;
    this.#sender = new OtlpSender(options.url, options.headers);
    this.#timer = setInterval(() => this.#send(), options.intervalMs).unref();
  }

  /** Sends what there is to tell at the end, for a second at most. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    const late = setTimeout(() => this.#sender.close(), STOP_MS);
    await this.#sending;
    this.#send();
    await this.#sending;
    clearTimeout(late);
    this.#sender.close();
  }

  #send(): void {
    // One that has not arrived is overtaken by the next: values count from the beginning.
    if (this.#sending !== undefined) return;
    this.#sending = this.#sendOnce()
      .catch(this.#options.failed)
      .finally(() => {
        this.#sending = undefined;
      });
  }

  async #sendOnce(): Promise<void> {
    const values = await this.#options.read();
    const metrics = metricsOf(values, performance.timeOrigin, Date.now());
    await this.#sender.send(metricsJson(this.#options.speaker, metrics));
  }
}
