import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";

/** A misbehaving webhook receiver. */
export interface OddReceiver {
  readonly url: string;
  stop(): Promise<void>;
}

/** The kinds, and their names in the figures. */
export const ODD_KINDS = {
  "black hole": "answers no packet: the connection is never made",
  refusing: "nothing listens",
  silent: "takes the connection and the message and never answers",
  slow: "answers 204 after 5 seconds",
  endless: "answers 200 and a body that never ends",
  failing: "answers 500 at once",
} as const;

export type OddKind = keyof typeof ODD_KINDS;

const SLOW_MS = 5_000;

async function startAnswering(answer: (response: ServerResponse) => void): Promise<OddReceiver> {
  const server = createServer((request, response) => {
    request.resume().on("end", () => answer(response));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const LISTEN_AND_SAY =
  "const s=require('net').createServer();s.listen({port:0,host:'127.0.0.1',backlog:1},()=>console.log(s.address().port))";

/** A stopped process that listens: once its connection queue is full, the kernel drops connection attempts. */
async function startBlackHole(): Promise<OddReceiver> {
  const child: ChildProcess = spawn(process.execPath, ["-e", LISTEN_AND_SAY], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [said] = (await once(child.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
  const port = Number(said.toString());
  child.kill("SIGSTOP");
  const filling: Socket[] = [];
  for (let connection = 0; connection < 4; connection += 1)
    filling.push(connect(port, "127.0.0.1").on("error", () => undefined));
  return {
    url: `http://127.0.0.1:${port}/`,
    async stop() {
      for (const socket of filling) socket.destroy();
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

async function startRefusing(): Promise<OddReceiver> {
  const server = createTcpServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return { url: `http://127.0.0.1:${port}/`, stop: async () => undefined };
}

export function startOddReceiver(kind: OddKind): Promise<OddReceiver> {
  if (kind === "black hole") return startBlackHole();
  if (kind === "refusing") return startRefusing();
  return startAnswering((response) => {
    if (kind === "failing") response.writeHead(500).end();
    if (kind === "slow") setTimeout(() => response.writeHead(204).end(), SLOW_MS);
    if (kind === "endless") {
      const timer = setInterval(() => response.write("."), 50);
      response.writeHead(200).on("close", () => clearInterval(timer));
    }
  });
}
