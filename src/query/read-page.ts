import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply } from "fastify";
import { readFor } from "../platform/db/connection.ts";
import { firstOfConnection } from "../platform/http/connection.ts";
import type { Position } from "../platform/http/position.ts";
import { readingFor } from "../platform/http/reader.ts";
import { freeMemory } from "../platform/runtime/free-memory.ts";
import { OpenPages } from "./open-pages.ts";

declare module "fastify" {
  interface FastifyInstance {
    readonly openPages: OpenPages;
  }
}

/**
 * Yields items as JSON in order, one or many at a time, valid until the next are requested; returns the input of `PageText.tail`, such as
 * the next position.
 */
export type Items<End = Position | null> = AsyncGenerator<Buffer | readonly Buffer[], End>;

export interface PageText<End = Position | null> {
  /** The text before the items, such as `{"items":[`. */
  readonly head: string;
  tail(end: End): string;
  /** Throws if the reader's permission has ended: asked after each wait, for its turn or for a slow reader. */
  authorizeAgain(): Promise<void>;
  /** One item per line (NDJSON) instead of an array. */
  readonly asLines?: boolean;
}

/** Size of the chunks that items are combined into. */
const GATHERED_BYTES = 65_536;
/** Page memory freed explicitly; the garbage collector frees the rest. */
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

  free(): void {
    for (const made of this.#made.splice(0)) freeMemory(made);
  }
}

/** The page's text in chunks. Copies each item, as it is valid only until the next are requested. */
async function* textOf<End>(
  items: Items<End>,
  page: PageText<End>,
  memory: PageMemory,
  reading: AbortSignal,
): AsyncGenerator<Buffer, void> {
  const [between, behind] = page.asLines === true ? [NOTHING, NEW_LINE] : [COMMA, NOTHING];
  let gathered = memory.make(GATHERED_BYTES);
  let length = gathered.write(page.head);
  let before = NOTHING;
  try {
    for (let isDone = false; !isDone; ) {
      const some = await readFor(reading, () => items.next());
      isDone = some.done === true;
      const text = some.done === true ? Buffer.from(page.tail(some.value)) : some.value;
      for (const bytes of Buffer.isBuffer(text) ? [text] : text) {
        const needed = bytes.length + between.length + behind.length;
        if (length + needed > gathered.length) {
          if (length > 0) {
            yield gathered.subarray(0, length);
            await page.authorizeAgain();
          }
          gathered = memory.make(Math.max(GATHERED_BYTES, needed));
          length = 0;
        }
        if (!isDone) length += before.copy(gathered, length);
        length += bytes.copy(gathered, length);
        if (!isDone) length += behind.copy(gathered, length);
        before = between;
      }
    }
    yield gathered.subarray(0, length);
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
 * Sends a small page whole and a large one as a stream. A failure before the first bytes is an ordinary error response; later, the
 * connection is closed, so that a partial page is not mistaken for a complete one.
 */
export async function sendPage<End = Position | null>(
  reply: FastifyReply,
  items: Items<End>,
  page: PageText<End>,
): Promise<FastifyReply> {
  const type = page.asLines === true ? "application/x-ndjson" : "application/json";
  reply.type(`${type}; charset=utf-8`).header("cache-control", "no-store");
  // Pages behind another response would keep their slots until it is sent, and it may wait for a slot.
  await firstOfConnection(reply.raw);
  await reply.server.openPages.enter(reply.request.principal?.clientId ?? "", reply.raw);
  // The client may have disconnected.
  if (reply.raw.closed) return reply.hijack();
  await page.authorizeAgain();
  const memory = new PageMemory();
  const text = textOf(items, page, memory, readingFor(reply.raw));
  const first = await text.next();
  const start = first.done === true ? Buffer.alloc(0) : first.value;
  if (reply.request.method === "HEAD") {
    await text.return();
    // An empty stream rather than an empty text, because the page's length is unknown, not 0.
    return reply.send(Readable.from([]));
  }
  const second = await text.next();
  // Free the memory only after everything is written; a closing connection may still be writing.
  reply.raw.once("finish", () => memory.free());
  if (second.done === true) return reply.send(start);
  return reply.send(Readable.from(startingWith([start, second.value], text), { objectMode: false }));
}
