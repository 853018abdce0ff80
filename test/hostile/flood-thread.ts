import { connect, type Socket } from "node:net";
import { parentPort, workerData } from "node:worker_threads";

/** What a thread floods with: the address of the service, and how many connections of each kind there are at once. */
export interface FloodOrder {
  readonly port: number;
}

/** One visit to a route: what begins each request, without and with credentials, and for how long. */
export interface Visit {
  readonly heads: readonly string[];
  readonly milliseconds: number;
}

/** Connections at once for each way and each kind of credentials; of one way so many may follow each other in a visit. */
const AT_ONCE = { chunks: 3, held: 12, slow: 4, headers: 2 } as const;
const REOPENED_MAX = 10;

const CHUNKS = Buffer.from("1\r\nx\r\n".repeat(10_000));
/** The attack that was found sent 27 MB on three connections. */
const CHUNK_BYTES_MAX = 9_000_000;
const HELD_BYTES = 2 * 1_048_576;
const HELD = Buffer.alloc(HELD_BYTES - 1, " ");
const MANY_HEADERS = Array.from({ length: 1_800 }, (_, at) => `a${at % 10}: b`).join("\r\n");
const SLOW_MS = 50;

type Way = keyof typeof AT_ONCE;

const { port } = workerData as FloodOrder;

/** Writes as fast as it is taken, up to a bound. */
function pour(socket: Socket, bytesMax: number): void {
  let sent = 0;
  const more = () => {
    while (sent < bytesMax && !socket.destroyed) {
      sent += CHUNKS.length;
      if (!socket.write(CHUNKS)) return;
    }
  };
  socket.on("drain", more);
  more();
}

const WAYS: Readonly<Record<Way, (socket: Socket, head: string) => void>> = {
  chunks(socket, head) {
    socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
    pour(socket, CHUNK_BYTES_MAX);
  },
  held(socket, head) {
    socket.write(`${head}Content-Length: ${HELD_BYTES}\r\n\r\n`);
    socket.write(HELD);
  },
  slow(socket, head) {
    socket.write(`${head}Content-Length: 1000\r\n\r\n`);
    const timer = setInterval(() => socket.write(" "), SLOW_MS);
    socket.once("close", () => clearInterval(timer));
  },
  headers(socket, head) {
    socket.write(`${head}${MANY_HEADERS}\r\n\r\n`);
  },
};

/** Floods in every way at once; answers how many connections there were. */
async function flood({ heads, milliseconds }: Visit): Promise<number> {
  const open = new Set<Socket>();
  let isOver = false;
  let opened = 0;
  const begin = (way: Way, head: string, left: number) => {
    if (isOver) return;
    opened += 1;
    const socket = connect({ port, host: "127.0.0.1" });
    open.add(socket);
    socket.on("error", () => undefined).resume();
    socket.once("connect", () => WAYS[way](socket, head));
    socket.once("close", () => {
      open.delete(socket);
      if (left > 0) begin(way, head, left - 1);
    });
  };
  for (const head of heads) {
    for (const [way, count] of Object.entries(AT_ONCE) as [Way, number][]) {
      for (let one = 0; one < count; one += 1) begin(way, head, REOPENED_MAX);
    }
  }
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  isOver = true;
  for (const socket of open) socket.resetAndDestroy();
  return opened;
}

parentPort?.on("message", async (visit: Visit) => parentPort?.postMessage(await flood(visit)));
