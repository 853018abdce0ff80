import type { Attributes, Speaker } from "./json.ts";
import { type Frame, LENGTH_MAX, ProtobufWriter } from "./protobuf-writer.ts";
import { SPAN_ID_BYTES, TRACE_ID_BYTES } from "./trace-context.ts";

/** OTLP's SpanKind. Here and below: opentelemetry/proto/trace/v1/trace.proto, common/v1/common.proto. */
const SPAN_KIND = { internal: 1, server: 2, client: 3, consumer: 5 } as const;

/** What spans of one kind have in common. One object for all of them: what it writes is kept as long as it is. */
export interface SpanShape {
  readonly name: string;
  readonly kind: keyof typeof SPAN_KIND;
  readonly attributes?: Attributes;
}

/** A span that is over. Times are milliseconds of this thread's `performance.now`, ids lower-case hexadecimal digits. */
export interface Span {
  readonly traceId: string;
  /** Undefined where nobody refers to it: it is given one as it is written. */
  readonly spanId: string | undefined;
  /** Of the span that it is part of; undefined for the first of a trace. */
  readonly parentSpanId: string | undefined;
  readonly shape: SpanShape;
  readonly startMs: number;
  readonly endMs: number;
  /** What is its own, beside what its shape has. */
  readonly attributes?: Attributes | undefined;
  /** Why it failed, in a word; undefined when it did not. */
  readonly failure?: string | undefined;
}

const REQUEST = { resourceSpans: 1 } as const;
const RESOURCE_SPANS = { resource: 1, scopeSpans: 2 } as const;
const RESOURCE = { attributes: 1 } as const;
const SCOPE_SPANS = { scope: 1, spans: 2 } as const;
const SCOPE = { name: 1, version: 2 } as const;
const SPAN = {
  ...{ traceId: 1, spanId: 2, parentSpanId: 4, name: 5, kind: 6, start: 7, end: 8, attributes: 9 },
  ...{ status: 15, flags: 16 },
} as const;
const STATUS = { message: 2, code: 3 } as const;
const KEY_VALUE = { key: 1, value: 2 } as const;
const ANY_VALUE = { text: 1, truth: 2, integer: 3, double: 4 } as const;

const ERROR_STATUS = 2;
/** Of a span's flags. */
const SAMPLED = 1;
const MICROSECONDS_A_MILLISECOND = 1_000;
const NANOSECONDS_A_MICROSECOND = 1_000;
/** Of the lists that hold the spans. */
const LIST_LENGTH_BYTES = 4;
const SHAPE_BYTES_MAX = 65_536;

/** What every span of a shape writes, and where in it stands what is each span's own. */
interface Head {
  readonly bytes: Buffer;
  readonly traceIdAt: number;
  readonly spanIdAt: number;
  readonly startAt: number;
  readonly endAt: number;
}

/** Of each shape its head: made once, and copied for each of its spans. */
const heads = new WeakMap<SpanShape, Head>();

function headOf(shape: SpanShape): Head {
  const made = heads.get(shape);
  if (made !== undefined) return made;
  const writer = new ProtobufWriter(Buffer.alloc(SHAPE_BYTES_MAX));
  const traceIdAt = writer.zeros(SPAN.traceId, TRACE_ID_BYTES);
  const spanIdAt = writer.zeros(SPAN.spanId, SPAN_ID_BYTES);
  const startAt = writer.fixed64(SPAN.start);
  const endAt = writer.fixed64(SPAN.end);
  writer.text(SPAN.name, shape.name);
  writer.varint(SPAN.kind, SPAN_KIND[shape.kind]);
  writeAttributes(writer, SPAN.attributes, shape.attributes ?? {});
  writer.fixed32(SPAN.flags, SAMPLED);
  const head = { bytes: Buffer.from(writer.written), traceIdAt, spanIdAt, startAt, endAt };
  heads.set(shape, head);
  return head;
}

/** The frames of the attributes of spans by their names, which are those of the sources: a few. */
const FRAMES = { text: new Map<string, Frame>(), integer: new Map<string, Frame>() };

/** A span's KeyValue up to its value. */
function frameOf(kind: keyof typeof FRAMES, key: string): Frame {
  const known = FRAMES[kind].get(key);
  if (known !== undefined) return known;
  const writer = new ProtobufWriter(Buffer.alloc(SHAPE_BYTES_MAX));
  const contentsAt = [writer.open(SPAN.attributes)];
  writer.text(KEY_VALUE.key, key);
  contentsAt.push(writer.open(KEY_VALUE.value));
  if (kind === "text") contentsAt.push(writer.open(ANY_VALUE.text));
  else writer.openVarint(ANY_VALUE[kind]);
  const frame = { bytes: Buffer.from(writer.written), contentsAt };
  FRAMES[kind].set(key, frame);
  return frame;
}

/** What is a span's own; what is undefined is left out. */
function writeOwn(writer: ProtobufWriter, attributes: Attributes): void {
  for (const key in attributes) {
    const value = attributes[key];
    if (typeof value === "string") writer.framedText(frameOf("text", key), value);
    else if (isVarint(value)) writer.framedVarint(frameOf("integer", key), value);
    else if (value !== undefined) writeAttribute(writer, SPAN.attributes, key, value);
  }
}

function isVarint(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Attributes as KeyValues; those that are undefined are left out. */
function writeAttributes(writer: ProtobufWriter, field: number, attributes: Attributes): void {
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined) writeAttribute(writer, field, key, value);
}

function writeAttribute(
  writer: ProtobufWriter,
  field: number,
  key: string,
  value: string | number | boolean,
): void {
  const attributeAt = writer.open(field);
  writer.text(KEY_VALUE.key, key);
  const valueAt = writer.open(KEY_VALUE.value);
  if (typeof value === "string") writer.text(ANY_VALUE.text, value);
  else if (typeof value === "boolean") writer.varint(ANY_VALUE.truth, Number(value));
  else if (isVarint(value)) writer.varint(ANY_VALUE.integer, value);
  else writer.double(ANY_VALUE.double, value);
  writer.close(valueAt);
  writer.close(attributeAt);
}

/**
 * The body of a POST to `/v1/traces`: an ExportTraceServiceRequest in protobuf, written span by span where it will be sent from. Spans
 * that wait are no objects so, and nobody has to collect them: text that waits for a second is copied by the collector of
 * the youngest objects, and once more, before it is let go.
 */
export class SpanMessage {
  readonly #writer: ProtobufWriter;
  readonly #resourceSpansAt: number;
  readonly #scopeSpansAt: number;
  readonly #headBytes: number;
  #spans = 0;

  constructor(bytesMax: number, { resource, version }: Speaker) {
    const writer = new ProtobufWriter(Buffer.allocUnsafeSlow(bytesMax));
    this.#writer = writer;
    this.#resourceSpansAt = writer.open(REQUEST.resourceSpans, LIST_LENGTH_BYTES);
    const resourceAt = writer.open(RESOURCE_SPANS.resource, LIST_LENGTH_BYTES);
    writeAttributes(writer, RESOURCE.attributes, resource);
    writer.close(resourceAt, LIST_LENGTH_BYTES);
    this.#scopeSpansAt = writer.open(RESOURCE_SPANS.scopeSpans, LIST_LENGTH_BYTES);
    const scopeAt = writer.open(SCOPE_SPANS.scope, LIST_LENGTH_BYTES);
    writer.text(SCOPE.name, "bellhop");
    writer.text(SCOPE.version, version);
    writer.close(scopeAt, LIST_LENGTH_BYTES);
    this.#headBytes = writer.at;
  }

  get spans(): number {
    return this.#spans;
  }

  /** Adds a span; false, and as before, when it has no room. `epochMs`: when the thread's clock was 0. */
  add(span: Span, epochMs: number): boolean {
    const writer = this.#writer;
    const before = writer.at;
    const spanAt = writer.open(SCOPE_SPANS.spans);
    this.#span(span, epochMs);
    if (!writer.hasRoom || writer.at - spanAt > LENGTH_MAX) {
      writer.at = before;
      return false;
    }
    writer.close(spanAt);
    this.#spans += 1;
    return true;
  }

  /** What is to be sent, until `clear` is called. */
  bytes(): Buffer {
    this.#writer.close(this.#scopeSpansAt, LIST_LENGTH_BYTES);
    this.#writer.close(this.#resourceSpansAt, LIST_LENGTH_BYTES);
    return this.#writer.written;
  }

  /** Forgets its spans, for others to take their room. */
  clear(): void {
    this.#writer.at = this.#headBytes;
    this.#spans = 0;
  }

  #span(span: Span, epochMs: number): void {
    const writer = this.#writer;
    const { spanId, parentSpanId, failure } = span;
    const { bytes, traceIdAt, spanIdAt, startAt, endAt } = headOf(span.shape);
    const headAt = writer.fields(bytes);
    if (!writer.hasRoom) return;
    writer.setHexadecimal(headAt + traceIdAt, span.traceId);
    if (spanId === undefined) writer.setRandom(headAt + spanIdAt, SPAN_ID_BYTES);
    else writer.setHexadecimal(headAt + spanIdAt, spanId);
    this.#setTime(headAt + startAt, epochMs + span.startMs);
    this.#setTime(headAt + endAt, epochMs + span.endMs);
    if (parentSpanId !== undefined) writer.hexadecimal(SPAN.parentSpanId, parentSpanId);
    if (span.attributes !== undefined) writeOwn(writer, span.attributes);
    if (failure === undefined) return;
    const statusAt = writer.open(SPAN.status);
    writer.text(STATUS.message, failure);
    writer.varint(STATUS.code, ERROR_STATUS);
    writer.close(statusAt);
  }

  /** Nanoseconds since 1970, of which we know the microseconds. */
  #setTime(at: number, sinceEpochMs: number): void {
    const microseconds = Math.round(sinceEpochMs * MICROSECONDS_A_MILLISECOND);
    this.#writer.setFixed64(at, microseconds, NANOSECONDS_A_MICROSECOND);
  }
}
