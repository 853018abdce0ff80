/** A span that is sampled, as others refer to it: lower-case hexadecimal, 32 and 16 digits, neither all zeros. */
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
}

/** What a caller says of its own span (W3C Trace Context, section 3.2). */
export interface CallerSpan extends TraceContext {
  readonly isSampled: boolean;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 0x01;
export const TRACE_ID_BYTES = 16;
export const SPAN_ID_BYTES = 8;
const TRACE_ID_DIGITS = 2 * TRACE_ID_BYTES;
const IDS_DIGITS = TRACE_ID_DIGITS + 2 * SPAN_ID_BYTES;
/** With the flags. */
const PACKED_DIGITS = IDS_DIGITS + 2;

/**
 * Reads a `traceparent` header. Undefined for what is none: the trace then begins here, as section 3.2.2.4 has it. Later
 * versions than 00 may have more behind the flags, and are read as far as 00 goes.
 *
 * @example readTraceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")?.isSampled // true
 */
export function readTraceparent(header: string | undefined): CallerSpan | undefined {
  if (header === undefined) return undefined;
  const [, version, traceId = "", spanId = "", flags = "", more] = TRACEPARENT.exec(header) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}

/** The `traceparent` of what is asked of others as part of this span. */
export function traceparentOf({ traceId, spanId }: TraceContext): string {
  return `00-${traceId}-${spanId}-01`;
}

/** As it travels with a batch in the log, in hexadecimal digits: trace, span, flags; 25 bytes. */
export function packTraceContext({ traceId, spanId }: TraceContext): string {
  return `${traceId}${spanId}01`;
}

/**
 * The context that a part of the log carries, in hexadecimal digits; undefined where it carries none, or one of a shape that is
 * not ours.
 */
export function unpackTraceContext(packed: string | null | undefined): TraceContext | undefined {
  if (packed?.length !== PACKED_DIGITS) return undefined;
  return { traceId: packed.slice(0, TRACE_ID_DIGITS), spanId: packed.slice(TRACE_ID_DIGITS, IDS_DIGITS) };
}
