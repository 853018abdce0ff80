import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { Position } from "../read/position.ts";

/** A page as its list yields it: items as JSON, in order, and at the end the next page's position. */
export type Items = AsyncGenerator<Buffer, Position | null>;

export interface PageText {
  /** What comes before the items, such as `{"items":[`. */
  readonly head: string;
  /** What comes after them, given the next page's position. */
  tail(next: Position | null): string;
}

/** Items are gathered up to this many bytes before they are handed to the socket. */
const GATHERED_BYTES = 65_536;
const COMMA = Buffer.from(",");

async function* textOf(items: Items, page: PageText): AsyncGenerator<Buffer, void> {
  let gathered: Buffer[] = [Buffer.from(page.head)];
  let bytes = 0;
  let separator: Buffer | undefined;
  try {
    for (;;) {
      const item = await items.next();
      if (item.done === true) {
        yield Buffer.concat([...gathered, Buffer.from(page.tail(item.value))]);
        return;
      }
      if (separator !== undefined) gathered.push(separator);
      separator = COMMA;
      gathered.push(item.value);
      bytes += item.value.length;
      if (bytes >= GATHERED_BYTES) {
        yield Buffer.concat(gathered);
        gathered = [];
        bytes = 0;
      }
    }
  } finally {
    await items.return(null);
  }
}

async function* startingWith(
  first: Buffer,
  rest: AsyncGenerator<Buffer, void>,
): AsyncGenerator<Buffer, void> {
  yield first;
  yield* rest;
}

/**
 * Sends a page. A small one goes out whole; a large one is streamed as it is read, so that it never lies in memory
 * whole, and a client that goes away ends the reading. Whatever fails before the first bytes is an ordinary error;
 * afterwards the connection is cut, so that half a page cannot be taken for a whole one.
 */
export async function sendPage(reply: FastifyReply, items: Items, page: PageText): Promise<FastifyReply> {
  reply.type("application/json; charset=utf-8").header("cache-control", "no-store");
  const text = textOf(items, page);
  const first = await text.next();
  const start = first.done === true ? Buffer.alloc(0) : first.value;
  if (reply.request.method === "HEAD") {
    await text.return();
    // An empty stream, and not an empty text: the length of the page is unknown, not 0.
    return reply.send(Readable.from([]));
  }
  const second = await text.next();
  if (second.done === true) return reply.send(start);
  return reply.send(
    Readable.from(startingWith(Buffer.concat([start, second.value]), text), { objectMode: false }),
  );
}
