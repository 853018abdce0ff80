import { randomFillSync } from "node:crypto";
import { type Span, type Speaker, spanJson, tracesJson } from "./json.ts";
import { PeriodicSending } from "./periodic-sending.ts";
import { isSampled, type SamplerName } from "./sampler.ts";
import { OtlpSender } from "./sender.ts";
import { readTraceparent, type TraceContext } from "./trace-context.ts";

/** How long a span waits for others at most. */
const SEND_MS = 1_000;
const SPANS_AT_ONCE = 512;
/** What a collector that is slow or gone may leave waiting; what comes beyond it is lost, and counted. */
const SPANS_WAITING_MAX = 8_192;
const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;

export interface TracerOptions {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly sampler: SamplerName;
  /** Of a sampler by ratio, 0 to 1. */
  readonly ratio: number;
  readonly speaker: Speaker;
  readonly events: {
    /** Spans that nobody will hear of. */
    lost(spans: number): void;
    failed(error: unknown): void;
  };
}

/** A span that has begun: its own context, and whose part it is. */
export interface BegunSpan {
  readonly context: TraceContext;
  readonly parentSpanId: string | undefined;
}

/** Random ids, many drawn at once: one by one they would cost more than all else of a span. */
class RandomIds {
  readonly #bytes = Buffer.alloc(4_096);
  #at = this.#bytes.length;

  next(bytes: number): string {
    if (this.#at + bytes > this.#bytes.length) {
      randomFillSync(this.#bytes);
      this.#at = 0;
    }
    const from = this.#at;
    this.#at += bytes;
    return this.#bytes.toString("hex", from, this.#at);
  }
}

/** The traces of one thread: decides which are sampled, and sends spans that are over to the collector. */
export class Tracer {
  readonly #options: TracerOptions;
  readonly #sender: OtlpSender;
  readonly #ids = new RandomIds();
  readonly #sending: PeriodicSending;
  #waiting: string[] = [];

  constructor(options: TracerOptions) {
    this.#options = options;
    this.#sender = new OtlpSender(options.url, options.headers);
    this.#sending = new PeriodicSending(this.#sender, SEND_MS, () => this.#sendAll());
  }

  /** Begins a trace, or goes on with that of a caller's `traceparent`; undefined when it is not sampled. */
  begin(traceparent: string | undefined): BegunSpan | undefined {
    const caller = readTraceparent(traceparent);
    const traceId = caller?.traceId ?? this.#ids.next(TRACE_ID_BYTES);
    if (!isSampled(this.#options.sampler, this.#options.ratio, traceId, caller)) return undefined;
    const context = { traceId, spanId: this.#ids.next(SPAN_ID_BYTES) };
    return { context, parentSpanId: caller?.spanId };
  }

  /** Begins a part of a span that is sampled. */
  beginWithin(parent: TraceContext): BegunSpan {
    const context = { traceId: parent.traceId, spanId: this.#ids.next(SPAN_ID_BYTES) };
    return { context, parentSpanId: parent.spanId };
  }

  /** A span is over. */
  end(span: Span): void {
    if (this.#waiting.length >= SPANS_WAITING_MAX) {
      this.#options.events.lost(1);
      return;
    }
    // Asked anew each time: the machine's clock may be set, and a thread's own goes on.
    this.#waiting.push(spanJson(span, Date.now() - performance.now()));
    if (this.#waiting.length >= SPANS_AT_ONCE) this.#sending.sendNow();
  }

  /** Sends what waits, for a second at most. */
  async stop(): Promise<void> {
    await this.#sending.stop();
  }

  async #sendAll(): Promise<void> {
    const { speaker, events } = this.#options;
    if (this.#waiting.length === 0) return;
    do {
      const spans = this.#waiting.splice(0, SPANS_AT_ONCE);
      try {
        await this.#sender.send(tracesJson(speaker, spans));
      } catch (error) {
        events.lost(spans.length);
        events.failed(error);
      }
    } while (this.#waiting.length >= SPANS_AT_ONCE);
  }
}
