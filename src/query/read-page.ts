import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply } from "fastify";
import { ClientTurns } from "../ingest/client-turns.ts";
import { readFor } from "../platform/db/connection.ts";
import type { Position } from "../platform/http/position.ts";
import { readingFor } from "../platform/http/reader.ts";

/** A page needs some ten megabytes until it is sent. */
const AT_ONCE = 4;

/** Limits the pages that one thread sends to one client at once: unread pages on hundreds of connections would exhaust the memory. */
export class OpenPages {
  readonly #turns = new ClientTurns(AT_ONCE);

  /** Resolves when the page may be sent; its turn ends with its response. Throws ServiceError (429) when too many wait. */
  enter(clientId: string, response: Pick<ServerResponse, "closed" | "once">): Promise<void> {
    const turn = Promise.withResolvers<void>();
    const closed = new Promise<void>((resolve) => {
      if (response.closed) resolve();
      else response.once("close", resolve);
    });
    const send = () => {
      turn.resolve();
      return closed;
    };
    this.#turns.run(clientId, send).catch(turn.reject);
    return turn.promise;
  }
}

declare module "fastify" {
  interface FastifyInstance {
    readonly openPages: OpenPages;
  }
}

/** Items as JSON, in order, and at the end what the tail needs, such as the next position. */
export type Items<End = Position | null> = AsyncGenerator<Buffer, End>;

export interface PageText<End = Position | null> {
  /** The text before the items, such as `{"items":[`. */
  readonly head: string;
  tail(end: End): string;
  /** Items as lines (NDJSON), not as elements of an array. */
  readonly asLines?: boolean;
}

/** Items are gathered up to this many bytes. */
const GATHERED_BYTES = 65_536;
/** The part of a page's memory that is freed explicitly; the garbage collector frees the rest. */
const FREED_BYTES_MAX = 8 * 1_048_576;
const COMMA = Buffer.from(",");
const NEW_LINE = Buffer.from("\n");
const NOTHING = Buffer.alloc(0);

class PageMemory {
  readonly #made: Buffer[] = [];
  #bytes = 0;

  make(bytes: number): Buffer {
    const buffer = Buffer.allocUnsafeSlow(bytes);
    if (this.#bytes + bytes <= FREED_BYTES_MAX) this.#made.push(buffer);
    this.#bytes += bytes;
    return buffer;
  }

  /** Frees it now: the garbage collector would mark the whole heap for a few pages. */
  free(): void {
    for (const { buffer } of this.#made.splice(0)) if (buffer instanceof ArrayBuffer) buffer.transfer(0);
  }
}

/** The page's text in pieces. Items are copied: each is valid only until the next. */
async function* textOf<End>(
  items: Items<End>,
  page: PageText<End>,
  memory: PageMemory,
  reading: AbortSignal,
): AsyncGenerator<Buffer, void> {
  const [between, behind] = page.asLines === true ? [NOTHING, NEW_LINE] : [COMMA, NOTHING];
  let gathered = memory.make(GATHERED_BYTES);
  let length = gathered.write(page.head);
  let isFirst = true;
  try {
    for (;;) {
      const item = await readFor(reading, () => items.next());
      const bytes = item.done === true ? Buffer.from(page.tail(item.value)) : item.value;
      const needed = bytes.length + between.length + behind.length;
      if (length + needed > gathered.length) {
        if (length > 0) yield gathered.subarray(0, length);
        gathered = memory.make(Math.max(GATHERED_BYTES, needed));
        length = 0;
      }
      if (!isFirst && item.done !== true) length += between.copy(gathered, length);
      length += bytes.copy(gathered, length);
      if (item.done !== true) length += behind.copy(gathered, length);
      isFirst = false;
      if (item.done !== true) continue;
      yield gathered.subarray(0, length);
      return;
    }
  } finally {
    await items.return(undefined as never);
  }
}

async function* startingWith(
  first: readonly Buffer[],
  rest: AsyncGenerator<Buffer, void>,
): AsyncGenerator<Buffer, void> {
  yield* first;
  yield* rest;
}

export function preparePages(app: FastifyInstance): void {
  app.decorate("openPages", new OpenPages());
}

/**
 * Sends a page: a small one whole, a large one streamed as it is read. A failure before the first bytes is an ordinary error; after
 * them the connection is cut, so that half a page is not taken for a whole one.
 */
export async function sendPage<End = Position | null>(
  reply: FastifyReply,
  items: Items<End>,
  page: PageText<End>,
): Promise<FastifyReply> {
  const type = page.asLines === true ? "application/x-ndjson" : "application/json";
  reply.type(`${type}; charset=utf-8`).header("cache-control", "no-store");
  await reply.server.openPages.enter(reply.request.principal?.clientId ?? "", reply.raw);
  // The client may be gone.
  if (reply.raw.closed) return reply.hijack();
  const memory = new PageMemory();
  const text = textOf(items, page, memory, readingFor(reply.raw));
  const first = await text.next();
  const start = first.done === true ? Buffer.alloc(0) : first.value;
  if (reply.request.method === "HEAD") {
    await text.return();
    // An empty stream, and not an empty text: the length of the page is unknown, not 0.
    return reply.send(Readable.from([]));
  }
  const second = await text.next();
  // Only then is everything written; a cut connection may still be writing.
  reply.raw.once("finish", () => memory.free());
  if (second.done === true) return reply.send(start);
  return reply.send(Readable.from(startingWith([start, second.value], text), { objectMode: false }));
}
