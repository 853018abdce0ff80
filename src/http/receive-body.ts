import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { createBrotliDecompress, createGunzip, createZstdDecompress } from "node:zlib";
import { ServiceError } from "../errors/registry.ts";
import type { BodyBudget } from "./body-budget.ts";

export interface BodyLimits {
  readonly bodyBytesMax: number;
  readonly inflatedBytesMax: number;
}

/** A whole body, decompressed. `release` gives its bytes back to the budget, once nothing refers to it any more. */
export interface ReceivedBody {
  readonly bytes: Buffer;
  readonly wireBytes: number;
  release(): void;
}

/** The media type must be application/json, in UTF-8; throws ServiceError 415 otherwise. */
export function checkMediaType(contentType: string | undefined): void {
  const [type = "", ...parameters] = (contentType ?? "").split(";").map((part) => part.trim().toLowerCase());
  const charset = parameters
    .find((parameter) => parameter.startsWith("charset="))
    ?.slice(8)
    .replaceAll('"', "");
  if (type !== "application/json" || (charset !== undefined && charset !== "utf-8" && charset !== "utf8")) {
    throw new ServiceError("bellhop.http.UnsupportedMediaType");
  }
}

function inflaterOf(encoding: string | undefined): Duplex | undefined {
  switch (encoding?.trim().toLowerCase() ?? "identity") {
    case "":
    case "identity":
      return undefined;
    case "gzip":
    case "x-gzip":
      return createGunzip();
    case "br":
      return createBrotliDecompress();
    case "zstd":
      return createZstdDecompress();
    default:
      throw new ServiceError("bellhop.http.UnsupportedEncoding");
  }
}

/** Collects a stream's chunks under a limit and the budget. */
class Collector {
  readonly #limits: BodyLimits;
  readonly #budget: BodyBudget;
  readonly #chunks: Buffer[] = [];
  #taken = 0;
  wireBytes = 0;
  #inflatedBytes = 0;

  constructor(limits: BodyLimits, budget: BodyBudget) {
    this.#limits = limits;
    this.#budget = budget;
  }

  countWire(bytes: number): void {
    this.wireBytes += bytes;
    if (this.wireBytes > this.#limits.bodyBytesMax) throw new ServiceError("bellhop.http.PayloadTooLarge");
  }

  add(chunk: Buffer): void {
    this.#inflatedBytes += chunk.length;
    if (this.#inflatedBytes > this.#limits.inflatedBytesMax) {
      throw new ServiceError("bellhop.http.PayloadTooLarge", {
        message: "The body is larger than is allowed once it is decompressed.",
      });
    }
    if (!this.#budget.take(chunk.length)) {
      throw new ServiceError("bellhop.accept.Unavailable", {
        message: "Too many large bodies are being received at once; send it again later.",
        retryAfterSeconds: 1,
      });
    }
    this.#taken += chunk.length;
    this.#chunks.push(chunk);
  }

  release(): void {
    this.#budget.release(this.#taken);
    this.#taken = 0;
    this.#chunks.length = 0;
  }

  whole(): Buffer {
    return this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
  }
}

async function collect(
  request: IncomingMessage,
  inflater: Duplex | undefined,
  collector: Collector,
): Promise<void> {
  if (inflater === undefined) {
    // Leaving the loop must not destroy the request, or the client would see a reset instead of the answer.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      collector.countWire((chunk as Buffer).length);
      collector.add(chunk as Buffer);
    }
    return;
  }
  request.on("data", (chunk: Buffer) => {
    try {
      collector.countWire(chunk.length);
    } catch (error) {
      inflater.destroy(error as Error);
    }
  });
  request.on("error", (error) => inflater.destroy(error));
  request.on("aborted", () => inflater.destroy(new Error("The client went away.")));
  request.pipe(inflater);
  for await (const chunk of inflater) collector.add(chunk as Buffer);
}

/**
 * Receives a body, counting bytes as they come. Throws ServiceError: 413 (too large, on the wire or inflated), 415
 * (unknown encoding), 503 (no budget), 400 (the client went away, or what it sent does not decompress).
 */
export async function receiveBody(
  request: IncomingMessage,
  limits: BodyLimits,
  budget: BodyBudget,
): Promise<ReceivedBody> {
  const encoding = request.headers["content-encoding"];
  const inflater = inflaterOf(encoding);
  if (Number(request.headers["content-length"] ?? 0) > limits.bodyBytesMax) {
    inflater?.destroy();
    request.resume();
    throw new ServiceError("bellhop.http.PayloadTooLarge");
  }
  const collector = new Collector(limits, budget);
  try {
    await collect(request, inflater, collector);
    return { bytes: collector.whole(), wireBytes: collector.wireBytes, release: () => collector.release() };
  } catch (error) {
    collector.release();
    // What still arrives is read and dropped, so that the answer reaches a client that sends before it reads; the
    // request's timeout bounds it.
    request.unpipe();
    request.resume();
    inflater?.destroy();
    if (error instanceof ServiceError) throw error;
    const message =
      inflater === undefined ? "The body ended early." : `The body is not valid ${encoding} data.`;
    throw new ServiceError("bellhop.http.BadRequest", { message, cause: error });
  }
}
