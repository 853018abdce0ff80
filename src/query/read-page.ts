import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply } from "fastify";
import { ClientTurns } from "../ingest/client-turns.ts";
import { readFor } from "../platform/db/pool.ts";
import type { Position } from "../platform/http/position.ts";
import { readingFor } from "../platform/http/reader.ts";

/** A page that is being sent keeps some ten megabytes until its last piece was taken. */
const AT_ONCE = 4;

/**
 * Bounds the pages that are sent to one client at once by one thread: without it, whoever asks for long pages on hundreds of connections
 * and takes none of them has the memory of the node. The others of that client wait until one was taken or its connection is gone.
 */
export class OpenPages {
  readonly #turns = new ClientTurns(AT_ONCE);

  /** Resolves when it is a page's turn, which is over once its response is. Throws ServiceError (429) when too many wait. */
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
    /** The pages that this thread is sending. */
    readonly openPages: OpenPages;
  }
}

/** A page as its list yields it: items as JSON, in order, and at the end what its last words need, such as the next page's position. */
export type Items<End = Position | null> = AsyncGenerator<Buffer, End>;

export interface PageText<End = Position | null> {
  /** What comes before the items, such as `{"items":[`. */
  readonly head: string;
  /** What comes after them. */
  tail(end: End): string;
  /** Items as lines of their own (NDJSON), and not as the elements of an array. */
  readonly asLines?: boolean;
}

/** A client that takes nothing of a page for so long is not waited for; Node may see that only after as long again. */
const STALL_MS_MAX = 30_000;
/** Items are gathered up to this many bytes before they are handed to the socket. */
const GATHERED_BYTES = 65_536;
/** So much of a page's memory is freed by hand once it was sent; what a longer page takes beyond is left to the garbage collector. */
const FREED_BYTES_MAX = 8 * 1_048_576;
const COMMA = Buffer.from(",");
const NEW_LINE = Buffer.from("\n");
const NOTHING = Buffer.alloc(0);

/** The memory of one page's text, handed out piece by piece. */
class PageMemory {
  readonly #made: Buffer[] = [];
  #bytes = 0;

  make(bytes: number): Buffer {
    const buffer = Buffer.allocUnsafeSlow(bytes);
    if (this.#bytes + bytes <= FREED_BYTES_MAX) this.#made.push(buffer);
    this.#bytes += bytes;
    return buffer;
  }

  /** Frees it at once: the pieces of a few pages would have the garbage collector mark the whole heap. */
  free(): void {
    for (const { buffer } of this.#made.splice(0)) if (buffer instanceof ArrayBuffer) buffer.transfer(0);
  }
}

/** The page's text in pieces. Items are copied as they come: each is good only until the next is asked for. */
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
      if (length > 0 && length + needed > gathered.length) {
        yield gathered.subarray(0, length);
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

/** Lets the app send pages. */
export function preparePages(app: FastifyInstance): void {
  app.decorate("openPages", new OpenPages());
}

/** Ends the connection of a client that does not take what it asked for, and with it the reading and its memory. */
function endWhenStalled({ raw }: FastifyReply): void {
  raw.setTimeout(STALL_MS_MAX);
  // Before Node's own listener, which sets how long the connection may then be idle.
  raw.prependOnceListener("finish", () => raw.setTimeout(0));
}

/**
 * Sends a page. A small one goes out whole; a large one is streamed as it is read, so that it never lies in memory
 * whole, and a client that goes away ends the reading. Whatever fails before the first bytes is an ordinary error;
 * afterwards the connection is cut, so that half a page cannot be taken for a whole one.
 */
export async function sendPage<End = Position | null>(
  reply: FastifyReply,
  items: Items<End>,
  page: PageText<End>,
): Promise<FastifyReply> {
  const type = page.asLines === true ? "application/x-ndjson" : "application/json";
  reply.type(`${type}; charset=utf-8`).header("cache-control", "no-store");
  await reply.server.openPages.enter(reply.request.principal?.clientId ?? "", reply.raw);
  // Who asked may be gone by now.
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
  // All of it has been handed to the system then. A connection that is cut may still be writing.
  reply.raw.once("finish", () => memory.free());
  if (second.done === true) return reply.send(start);
  endWhenStalled(reply);
  return reply.send(Readable.from(startingWith([start, second.value], text), { objectMode: false }));
}
