import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ServiceError } from "../errors/registry.ts";
import type { BodyBudget } from "./body-budget.ts";
import { BodyCollector, type BodyLimits, roomOfLargest } from "./body-collector.ts";
import type { HttpContext } from "./context.ts";
import { type Encoding, inflateBody, WINDOW_BYTES_MAX } from "./inflate-body.ts";

/** A whole body, decompressed. Its memory goes back to the budget as BodyCollector says. */
export type ReceivedBody = Pick<BodyCollector, "keepOnly" | "release"> & { readonly bytes: Buffer };

/** The room that the largest body may take, whatever its encoding. */
export function roomOfLargestBody(limits: BodyLimits): number {
  return roomOfLargest(limits, Math.max(...Object.values(WINDOW_BYTES_MAX)));
}

/** The media type must be application/json, in UTF-8; throws ServiceError 415 otherwise. */
export function checkMediaType(contentType: string | undefined): void {
  if (contentType === "application/json") return;
  const [type = "", ...parameters] = (contentType ?? "").split(";").map((part) => part.trim().toLowerCase());
  const charset = parameters
    .find((parameter) => parameter.startsWith("charset="))
    ?.slice(8)
    .replaceAll('"', "");
  if (type !== "application/json" || (charset !== undefined && charset !== "utf-8" && charset !== "utf8")) {
    throw new ServiceError("bellhop.http.UnsupportedMediaType");
  }
}

/**
 * Receives a body, counting bytes as they come. `weigh` is told how many it has at least: first what is promised, before any of
 * it is read, so that requests beside it find it counted, then what has come. Throws ServiceError: 413 (too large, on the wire or
 * inflated), 415 (unknown encoding), 503 (no budget), 400 (the client went away, or what it sent does not decompress).
 */
export async function receiveBody(
  request: IncomingMessage,
  clientId: string,
  limits: BodyLimits,
  budget: BodyBudget,
  weigh?: (bytes: number) => void,
): Promise<ReceivedBody> {
  const encoding = encodingOf(request.headers["content-encoding"]);
  const wireBytes = Number(request.headers["content-length"] ?? 0);
  if (wireBytes > limits.bodyBytesMax) throw new ServiceError("bellhop.http.PayloadTooLarge");
  weigh?.(wireBytes);
  const promise =
    encoding === undefined
      ? { bytes: wireBytes, windowBytes: 0 }
      : { bytes: 0, windowBytes: WINDOW_BYTES_MAX[encoding] };
  const collector = new BodyCollector(clientId, limits, budget, promise, weigh);
  try {
    if (encoding === undefined) await collect(request, collector);
    else await inflateBody(request, encoding, collector);
    return {
      bytes: collector.whole(),
      keepOnly: (bytes) => collector.keepOnly(bytes),
      release: () => collector.release(),
    };
  } catch (error) {
    collector.release();
    if (error instanceof ServiceError) throw error;
    const message =
      encoding === undefined ? "The body ended early." : `The body is not valid ${encoding} data.`;
    throw new ServiceError("bellhop.http.BadRequest", { message, cause: error });
  }
}

/** Leaves the bodies of these routes to their handlers: no parser of the framework reads what nobody counts. */
export function leaveBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
}

/**
 * Receives the whole of a small body, which is empty where none came. Without a client it counts as its address's. Throws
 * ServiceError as `receiveBody` does.
 */
export async function receiveSmallBody(
  { budget, clientAddress }: Pick<HttpContext, "budget" | "clientAddress">,
  { raw, principal }: FastifyRequest,
  bytesMax: number,
): Promise<Buffer> {
  const owner = principal?.clientId ?? clientAddress(raw);
  const limits = { bodyBytesMax: bytesMax, inflatedBytesMax: bytesMax };
  const received = await receiveBody(raw, owner, limits, budget);
  try {
    return Buffer.from(received.bytes);
  } finally {
    received.release();
  }
}

/** Undefined for identity; throws ServiceError 415 for what is unknown, several encodings among it. */
function encodingOf(header: string | undefined): Encoding | undefined {
  switch (header?.trim().toLowerCase() ?? "identity") {
    case "":
    case "identity":
      return undefined;
    case "gzip":
    case "x-gzip":
      return "gzip";
    case "br":
      return "br";
    case "zstd":
      return "zstd";
    default:
      throw new ServiceError("bellhop.http.UnsupportedEncoding");
  }
}

/** By events: a promise a chunk would cost twice as much, and a hostile client decides how many chunks there are. */
function collect(request: IncomingMessage, collector: BodyCollector): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: unknown) => {
      request.off("data", take).off("end", settle).off("error", settle).off("close", goneAway);
      if (error === undefined) resolve();
      else reject(error);
    };
    const goneAway = () => settle(new Error("The client went away in the middle of its body."));
    const take = (chunk: Buffer) => {
      try {
        collector.countWire(chunk.length);
        collector.add(chunk);
      } catch (error) {
        settle(error);
      }
    };
    request.on("end", settle).on("error", settle).on("close", goneAway).on("data", take);
    // It may have gone before this was called.
    if (request.destroyed) goneAway();
  });
}
