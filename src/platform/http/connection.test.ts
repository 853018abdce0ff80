import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, describe, test } from "node:test";
import { until } from "../../../test/support/until.ts";
import {
  isLast,
  PacedRequest,
  pacedRequests,
  refuseConnection,
  refuseTunnel,
  takeLaterTurn,
  takeTurn,
} from "./connection.ts";

const started: (Server | Socket)[] = [];
afterEach(() => {
  for (const each of started.splice(0)) "destroy" in each ? each.destroy() : each.close();
});

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function serve(handler: Handler): Promise<Server> {
  const server = createServer({ IncomingMessage: pacedRequests() }, handler);
  started.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return server;
}

function connectTo(server: Server): Socket {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  started.push(socket);
  socket.on("error", () => undefined);
  return socket;
}

const HEAD = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
const chunk = (bytes: string) => `${bytes.length.toString(16)}\r\n${bytes}\r\n`;

describe("the chunks of a body", () => {
  test("cost their bytes even if nobody reads them, because small chunks are combined", async () => {
    const { promise, resolve } = Promise.withResolvers<IncomingMessage>();
    const server = await serve(resolve);
    const count = 1_000;
    connectTo(server).write(`${HEAD}${chunk("x").repeat(count)}0\r\n\r\n`);
    const request = await promise;
    let [buffers, bytes] = [0, 0];
    request.on("data", (part: Buffer) => {
      buffers += 1;
      bytes += part.length;
    });
    await once(request, "end");
    assert.equal(bytes, count);
    // One buffer per read of the socket.
    assert.ok(buffers < 10, String(buffers));
  });

  test("are not delivered after the refusal, even if already read", async () => {
    let chunks = 0;
    class Counted extends pacedRequests() {
      override push(part: Buffer | null): boolean {
        chunks += 1;
        return super.push(part);
      }
    }
    const server = createServer({ IncomingMessage: Counted }, (request, response) => {
      takeTurn(request, response, () => request.resume());
    });
    started.push(server);
    await once(server.listen(0, "127.0.0.1"), "listening");
    const socket = connectTo(server);
    socket.write(`${HEAD}${chunk("x").repeat(10_000)}`);
    const [answer] = await once(socket, "data");
    assert.match(String(answer), /^HTTP\/1\.1 413 /);
    await once(socket, "close");
    assert.ok(chunks < 1_100, String(chunks));
    // The parser still serves another connection.
    const again = connectTo(server);
    again.write(`${HEAD}${chunk("x").repeat(10)}0\r\n\r\n`);
    await until(() => chunks > 1_010, 5_000);
  });

  test("keep their bytes and their order, small and large", async () => {
    const { promise, resolve } = Promise.withResolvers<IncomingMessage>();
    const server = await serve(resolve);
    const parts = Array.from({ length: 400 }, (_, at) =>
      String.fromCharCode(97 + (at % 26)).repeat((at * 37) % 1_500),
    );
    const body = parts.filter((part) => part !== "");
    connectTo(server).write(`${HEAD}${body.map(chunk).join("")}0\r\n\r\n`);
    const received: Buffer[] = [];
    for await (const part of await promise) received.push(part as Buffer);
    assert.equal(Buffer.concat(received).toString(), body.join(""));
  });
});

describe("pipelined requests", () => {
  const ask = (at: number | string) => `GET /${at} HTTP/1.1\r\nHost: a\r\n\r\n`;
  const asks = (count: number) => Array.from({ length: count }, (_, at) => ask(at)).join("");

  /** Holds every request but `/other`, which is answered at once. */
  async function hold() {
    const held: ServerResponse[] = [];
    const open = new Set<Socket>();
    let made = 0;
    class Made extends pacedRequests() {
      constructor(socket: Socket) {
        super(socket);
        made += 1;
      }
    }
    const server = createServer({ IncomingMessage: Made }, (request, response) => {
      takeTurn(request, response, () => {
        if (request.url === "/other") response.end();
        else {
          open.add(request.socket);
          held.push(response);
        }
      });
    });
    started.push(server);
    await once(server.listen(0, "127.0.0.1"), "listening");
    /** All that other connections have sent is read by the time that this one is answered. */
    const settle = async () => {
      for (let turn = 0; turn < 5; turn += 1) {
        const other = connectTo(server);
        other.write("GET /other HTTP/1.1\r\nHost: a\r\n\r\n");
        await once(other, "data");
        other.destroy();
      }
    };
    const bytesRead = () => [...open].reduce((sum, socket) => sum + socket.bytesRead, 0);
    return { server, held, settle, bytesRead, made: () => made };
  }

  async function answerAll(held: ServerResponse[], count: number): Promise<void> {
    for (let answered = 0; answered < count; answered += 1) {
      await until(() => held.length > 0, 5_000);
      const response = held.shift();
      response?.end(response.req.url);
    }
  }

  test("eight of a connection are handled at once; the others follow in their order", async () => {
    const { server, held, settle } = await hold();
    const socket = connectTo(server);
    let received = "";
    socket.on("data", (part) => {
      received += String(part);
    });
    socket.write(asks(40));
    await until(() => held.length >= 8, 5_000);
    await settle();
    assert.equal(held.length, 8);
    await answerAll(held, 40);
    await until(() => received.endsWith("/39"), 5_000);
    const order = [...received.matchAll(/\r\n\/(\d+)/g)].map(([, at]) => Number(at));
    assert.deepEqual(
      order,
      Array.from({ length: 40 }, (_, at) => at),
    );
  });

  test("are not read while eight are unanswered", async () => {
    const { server, held, settle, bytesRead } = await hold();
    connectTo(server).write(asks(1_000_000 / ask(1).length));
    await until(() => held.length >= 8, 5_000);
    await settle();
    // One read of the socket.
    assert.ok(bytesRead() <= 65_536, String(bytesRead()));
  });

  test("of several connections are handled in turns, and others are served between them", async () => {
    const order: string[] = [];
    let first: ServerResponse | undefined;
    const server = createServer({ IncomingMessage: pacedRequests() }, (request, response) => {
      takeTurn(request, response, () => {
        const [, of = "", at = ""] = request.url?.split("/") ?? [];
        order.push(of);
        if (at === "0" && of === "0") first = response;
        else response.end();
        if (order.length === bursts * 2) neighbour.write("GET /neighbour HTTP/1.1\r\nHost: a\r\n\r\n");
      });
    });
    started.push(server);
    await once(server.listen(0, "127.0.0.1"), "listening");
    const [bursts, each] = [10, 30];
    const neighbour = connectTo(server);
    neighbour.write("GET /early HTTP/1.1\r\nHost: a\r\n\r\n");
    await once(neighbour, "data");
    for (let of = 0; of < bursts; of += 1) {
      const burst = Array.from({ length: each }, (_, at) => `GET /${of}/${at} HTTP/1.1\r\nHost: a\r\n\r\n`);
      connectTo(server).resume().write(burst.join(""));
    }
    await until(() => order.includes("neighbour") && order.length > bursts * each - each, 5_000);
    first?.end();
    await until(() => order.length === bursts * each + 2, 5_000);
    const servedAfter = order.indexOf("neighbour") - bursts * 2;
    assert.ok(servedAfter < bursts * 3, `the neighbour is served after ${servedAfter} others`);
    const inOneRow = order.map((of, at) => order.slice(at).findIndex((next) => next !== of));
    assert.ok(Math.max(...inOneRow) < 8, `${Math.max(...inOneRow)} of one connection in one row`);
  });

  test("of many connections leave the event loop to a request that goes first", async () => {
    const order: string[] = [];
    const connections = 60;
    let isAsked = false;
    const server = await serve((request, response) => {
      const handle = () => {
        order.push(request.url ?? "");
        for (const end = performance.now() + 1; performance.now() < end; );
        response.end();
      };
      takeTurn(request, response, () => {
        if (request.url === "/open") response.end();
        else if (request.url === "/first") handle();
        else takeLaterTurn(response, handle);
        if (order.length === 1 && !isAsked) {
          isAsked = true;
          neighbour.write(ask("first"));
        }
      });
    });
    const open = async () => {
      const socket = connectTo(server);
      socket.write(ask("open"));
      await once(socket, "data");
      return socket.resume();
    };
    const neighbour = await open();
    const others = await Promise.all(Array.from({ length: connections }, open));
    for (const other of others) other.write(ask("later"));
    await until(() => order.length > connections, 5_000);
    const before = order.indexOf("/first");
    assert.ok(before < connections / 2, `${before} others were handled before it`);
  });

  test("that take later turns are six in progress at once, and hold up none for more than 100 ms", async () => {
    const begun: { readonly at: number; readonly response: ServerResponse }[] = [];
    const server = await serve((request, response) => {
      const handle = () => begun.push({ at: performance.now(), response });
      takeTurn(request, response, () => takeLaterTurn(response, handle));
    });
    const sockets = Array.from({ length: 40 }, () => connectTo(server));
    for (const socket of sockets) socket.resume().write(ask("later"));
    await until(() => begun.length > 6, 5_000);
    assert.ok((begun[6]?.at ?? 0) - (begun[0]?.at ?? 0) >= 99);
    for (const socket of sockets.slice(20)) socket.destroy();
    for (const { response } of begun) response.end();
    const last = connectTo(server);
    last.resume().write(ask("last"));
    await until(() => begun.at(-1)?.response.req.url === "/last", 5_000);
    assert.ok(begun.length >= 21, `${begun.length} began`);
  });

  test("of one read beyond 40 cost no memory: the connection is closed after these", async () => {
    const { server, held, settle, made } = await hold();
    const socket = connectTo(server);
    socket.resume().write(asks(2_000));
    await until(() => held.length >= 8, 5_000);
    await settle();
    assert.ok(made() < 50, String(made()));
    let answered = 0;
    await until(async () => {
      for (const response of held.splice(0)) {
        if (isLast(response.req)) response.setHeader("connection", "close");
        response.end();
        answered += 1;
      }
      return socket.closed;
    }, 5_000);
    assert.equal(answered, 40);
  });
});

test("a connection ends soon after CONNECT, even if its client gets no answer to an earlier request", async () => {
  const server = createServer({ IncomingMessage: pacedRequests() }, (request, response) => {
    takeTurn(request, response, () => undefined);
  });
  server.on("connect", (_request, socket: Socket) => refuseTunnel(socket));
  started.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const socket = connectTo(server);
  socket.resume().write("GET / HTTP/1.1\r\nHost: a\r\n\r\nCONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n");
  await once(socket, "close", { signal: AbortSignal.timeout(5_000) });
});

test("the reader of a body that is refused fails at once, and gets nothing of it any more", async () => {
  const reader = Promise.withResolvers<boolean>();
  const server = createServer({ IncomingMessage: pacedRequests() }, (request, response) => {
    takeTurn(request, response, () => {
      let hasFailed = false;
      request.on("end", () => reader.reject(new Error("The body has an end.")));
      request.on("error", () => {
        hasFailed = true;
      });
      request.once("data", () => {
        refuseConnection({ code: "ERR_HTTP_REQUEST_TIMEOUT" }, request.socket);
        reader.resolve(hasFailed);
      });
    });
  });
  started.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const socket = connectTo(server);
  socket.write(HEAD + chunk("x".repeat(1_000)));
  const [answer] = await once(socket, "data");
  assert.match(String(answer), /^HTTP\/1\.1 408 /);
  assert.equal(await reader.promise, true);
});

describe("the drained rest of a body", () => {
  const BYTES = 4 * 1_048_576;
  const large = Buffer.concat([
    Buffer.from(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${BYTES}\r\n\r\n`),
    Buffer.alloc(BYTES),
    Buffer.from("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
  ]);

  /** Answers each request before its body arrives. */
  const refusing: Handler = (request, response) => {
    if (request instanceof PacedRequest) request.drain();
    response.end(request.method);
  };

  /** Waits for the response to the request that follows a body. */
  async function answered(socket: Socket): Promise<void> {
    let text = "";
    for await (const part of socket) {
      text += String(part);
      if (text.endsWith("GET")) return;
    }
    assert.fail(`closed after ${text}`);
  }

  test("is read to its end, so that the next request on the connection is answered", async () => {
    const server = await serve(refusing);
    const sockets = Array.from({ length: 3 }, () => connectTo(server));
    for (const socket of sockets) socket.write(large);
    await Promise.all(sockets.map(answered));
  });

  test("a waiting request that disconnects does not delay the others", async () => {
    const server = await serve(refusing);
    const [gone, stays] = [connectTo(server), connectTo(server)];
    gone.write(large.subarray(0, BYTES));
    await once(gone, "data");
    gone.resetAndDestroy();
    stays.write(large);
    await answered(stays);
  });
});
