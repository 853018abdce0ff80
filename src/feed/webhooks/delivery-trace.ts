import type pg from "pg";
import { readStatement } from "../../db/statement.ts";
import type { SpanShape } from "../../observe/otlp/span-message.ts";
import { traceparentOf, unpackTraceContext } from "../../observe/otlp/trace-context.ts";
import type { Tracer } from "../../observe/otlp/tracer.ts";
import type { TryResult } from "./send-message.ts";

const READ_CONTEXT = readStatement(new URL("./sql/read-trace-context.sql", import.meta.url));

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The span of one try. */
export interface DeliveryTrace {
  /** What tells the receiver of it (W3C Trace Context). Not signed: whoever passes a message on may trace it, too. */
  readonly headers: { readonly traceparent: string };
  end(result: TryResult, of: DeliveredMessage): void;
}

interface DeliveredMessage {
  readonly endpointId: string;
  readonly messageId: string;
  readonly attempt: number;
}

/**
 * Begins the span of a try: within the request that the message tells of, if that was traced, else a trace of its own. Undefined
 * where it is not sampled. Rejects when the database cannot be asked.
 */
export async function beginDelivery(
  { pool, tracer }: { readonly pool: pg.Pool; readonly tracer?: Tracer | undefined },
  { event, cause }: { readonly event: string; readonly cause: string },
): Promise<DeliveryTrace | undefined> {
  if (tracer === undefined) return undefined;
  const request = event === "request.applied" && UUID.test(cause) ? await contextOf(pool, cause) : undefined;
  const begun = request === undefined ? tracer.begin(undefined) : tracer.beginWithin(request);
  if (begun === undefined) return undefined;
  const startMs = performance.now();
  return {
    headers: { traceparent: traceparentOf(begun.context) },
    end({ status, failure }, { endpointId, messageId, attempt }) {
      tracer.end({
        ...begun.context,
        parentSpanId: begun.parentSpanId,
        shape: shapeOf(event),
        startMs,
        endMs: performance.now(),
        attributes: {
          "http.request.method": "POST",
          "http.response.status_code": status ?? undefined,
          "http.request.resend_count": attempt > 1 ? attempt - 1 : undefined,
          "bellhop.webhook.endpoint_id": endpointId,
          "bellhop.webhook.message_id": messageId,
        },
        failure: failure ?? undefined,
      });
    },
  };
}

/** What tries to tell of one kind of event have in common, by its name, of which there are a few. */
const shapes = new Map<string, SpanShape>();

function shapeOf(event: string): SpanShape {
  const known = shapes.get(event);
  if (known !== undefined) return known;
  const shape: SpanShape = { name: `deliver ${event}`, kind: "client" };
  shapes.set(event, shape);
  return shape;
}

async function contextOf(pool: pg.Pool, requestId: string) {
  const { rows } = await pool.query<{ trace_context: string }>({ ...READ_CONTEXT, values: [requestId] });
  return unpackTraceContext(rows[0]?.trace_context);
}
