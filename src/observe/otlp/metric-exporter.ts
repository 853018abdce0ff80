import type { MetricValues } from "../metrics.ts";
import { metricsJson, type Speaker } from "./json.ts";
import { metricsOf } from "./metrics-json.ts";
import { PeriodicSending } from "./periodic-sending.ts";
import { OtlpSender } from "./sender.ts";

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
  readonly #sending: PeriodicSending;

  constructor(options: MetricExporterOptions) {
    this.#options = options;
    this.#sender = new OtlpSender(options.url, options.headers);
    // Metrics that have not arrived are overtaken by the next: values count from the beginning.
    this.#sending = new PeriodicSending(this.#sender, options.intervalMs, () =>
      this.#send().catch(options.failed),
    );
  }

  /** Sends what there is to tell at the end, for a second at most. */
  async stop(): Promise<void> {
    await this.#sending.stop();
  }

  async #send(): Promise<void> {
    const values = await this.#options.read();
    const metrics = metricsOf(values, performance.timeOrigin, Date.now());
    const body = Buffer.from(metricsJson(this.#options.speaker, metrics));
    await this.#sender.send(body, "application/json");
  }
}
