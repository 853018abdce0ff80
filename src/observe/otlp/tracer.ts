import type { Speaker } from "./json.ts";
import { PeriodicSending } from "./periodic-sending.ts";
import { randomId } from "./random-ids.ts";
import { type Sampler, type SamplerName, samplerOf } from "./sampler.ts";
import { OtlpSender } from "./sender.ts";
import { type Span, SpanMessage } from "./span-message.ts";
import { readTraceparent, SPAN_ID_BYTES, TRACE_ID_BYTES, type TraceContext } from "./trace-context.ts";

/** How long a span waits for others at most. */
const SEND_MS = 1_000;
/** Some 1,500 spans, so that a sending costs little of each; what is not filled is no memory. */
const MESSAGE_BYTES = 384 * 1_024;
/** What a collector that is slow or gone may leave waiting, the one that is filled among them; what comes beyond it is lost, and counted. */
const MESSAGES_MAX = 5;
/** So often the machine's clock is asked: it may be set, and a thread's own goes on. */
const ASK_CLOCK_MS = 1_000;

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

/** A part of a span that is sampled, told of once it is over: nobody refers to it. */
type SpanPart = Pick<Span, "shape" | "startMs" | "endMs" | "attributes">;

/** The traces of one thread: decides which are sampled, and sends spans that are over to the collector. */
export class Tracer {
  readonly #options: TracerOptions;
  readonly #sender: OtlpSender;
  readonly #isSampled: Sampler;
  readonly #sending: PeriodicSending;
  readonly #full: SpanMessage[] = [];
  readonly #empty: SpanMessage[] = [];
  #filling: SpanMessage | undefined;
  #epochMs = 0;
  #clockAskedMs = Number.NEGATIVE_INFINITY;

  constructor(options: TracerOptions) {
    this.#options = options;
    this.#isSampled = samplerOf(options.sampler, options.ratio);
    this.#sender = new OtlpSender(options.url, options.headers);
    this.#sending = new PeriodicSending(this.#sender, SEND_MS, () => this.#sendAll());
  }

  /** Begins a trace, or goes on with that of a caller's `traceparent`; undefined when it is not sampled. */
  begin(traceparent: string | undefined): BegunSpan | undefined {
    const caller = readTraceparent(traceparent);
    const traceId = caller?.traceId ?? randomId(TRACE_ID_BYTES);
    if (!this.#isSampled(traceId, caller)) return undefined;
    const context = { traceId, spanId: randomId(SPAN_ID_BYTES) };
    return { context, parentSpanId: caller?.spanId };
  }

  /** Begins a part of a span that is sampled, to which others will refer. */
  beginWithin(parent: TraceContext): BegunSpan {
    const context = { traceId: parent.traceId, spanId: randomId(SPAN_ID_BYTES) };
    return { context, parentSpanId: parent.spanId };
  }

  /** A span is over. */
  end(span: Span): void {
    if (span.endMs - this.#clockAskedMs > ASK_CLOCK_MS) {
      this.#epochMs = Date.now() - performance.now();
      this.#clockAskedMs = span.endMs;
    }
    if (this.#filling?.add(span, this.#epochMs)) return;
    this.#finishFilling();
    if (this.#full.length > 0) this.#sending.sendNow();
    if (this.#full.length < MESSAGES_MAX - 1)
      this.#filling = this.#empty.pop() ?? new SpanMessage(MESSAGE_BYTES, this.#options.speaker);
    if (!this.#filling?.add(span, this.#epochMs)) this.#options.events.lost(1);
  }

  /** A part of a span that is sampled is over. */
  endWithin({ traceId, spanId }: TraceContext, { shape, startMs, endMs, attributes }: SpanPart): void {
    this.end({ traceId, spanId: undefined, parentSpanId: spanId, shape, startMs, endMs, attributes });
  }

  /** Sends what waits, for a second at most. */
  async stop(): Promise<void> {
    this.#finishFilling();
    await this.#sending.stop();
  }

  #finishFilling(): void {
    if (this.#filling !== undefined && this.#filling.spans > 0) this.#full.push(this.#filling);
    this.#filling = undefined;
  }

  /** What is full, or else what there is. */
  async #sendAll(): Promise<void> {
    if (this.#full.length === 0) this.#finishFilling();
    for (let message = this.#full.shift(); message !== undefined; message = this.#full.shift()) {
      await this.#send(message);
      message.clear();
      this.#empty.push(message);
    }
  }

  async #send(message: SpanMessage): Promise<void> {
    try {
      await this.#sender.send(message.bytes(), "application/x-protobuf");
    } catch (error) {
      this.#options.events.lost(message.spans);
      this.#options.events.failed(error);
    }
  }
}
