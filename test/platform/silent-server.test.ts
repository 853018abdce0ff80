import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { test } from "node:test";
import pg from "pg";
import { clientConfig } from "../../src/platform/db/connection.ts";

/** The columns `tr` and `tm->when` of /proc/net/tcp: 2 is the timer of keepalives, then how soon it runs out (1/100 s). */
const KEEPALIVE_TIMER = 2;

/** The timer that the kernel has for the client's end of a connection. */
async function timerOf({ localPort, remotePort }: Socket): Promise<{ kind: number; seconds: number }> {
  const hexOf = (port: number | undefined) => (port ?? 0).toString(16).toUpperCase().padStart(4, "0");
  const lines = (await readFile("/proc/net/tcp", "utf8")).split("\n");
  // From the client's end, the server's port is the remote one.
  const ends = new RegExp(`:\\s+\\w+:${hexOf(remotePort)}\\s+\\w+:${hexOf(localPort)} `);
  const line = lines.find((candidate) => ends.test(candidate));
  assert.ok(line, "The kernel does not list the connection.");
  const [, kind = "", when = ""] = /(\w\w):(\w{8})/.exec(line.split(/\s+/).slice(6).join(" ")) ?? [];
  return { kind: Number.parseInt(kind, 16), seconds: Number.parseInt(when, 16) / 100 };
}

test("a silent server is probed within seconds", {
  skip: process.platform !== "linux" && "Only Linux shows the timers of a connection.",
}, async () => {
  const server = createServer();
  const accepted = new Promise<Socket>((resolve) => server.once("connection", resolve));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const client = new pg.Client(
    clientConfig({
      host: "127.0.0.1",
      port: address.port,
      user: "nobody",
      password: "none",
      database: "none",
    }),
  );
  client.on("error", () => undefined);
  const connecting = client.connect().catch(() => undefined);
  const socket = await accepted;
  // What was sent first has arrived, so that nothing but keepalives is left to wait for.
  await new Promise((resolve) => socket.once("data", resolve));
  const { kind, seconds } = await timerOf(socket);
  assert.equal(kind, KEEPALIVE_TIMER);
  assert.ok(seconds <= 10, `after ${seconds} s`);
  socket.destroy();
  server.close();
  await connecting;
});
