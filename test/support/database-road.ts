import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/**
 * A TCP address that leads to the database. `close` cuts it, as a server that went away would, and `reopen` restores it;
 * `swallow` has it take everything and bring nothing on, as a network that lost its way, until `release`.
 */
export async function openRoad(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const host = decodeURIComponent(target.hostname);
  const port = target.port || "5432";
  const travellers = new Set<Socket>();
  const ways = new Set<readonly [Socket, Socket]>();
  let swallows = false;
  const go = ([near, far]: readonly [Socket, Socket]) => near.pipe(far).pipe(near);
  const server = createServer((near) => {
    const far = host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect(Number(port), host);
    const way = [near, far] as const;
    ways.add(way);
    for (const socket of [near, far]) {
      travellers.add(socket);
      socket
        .on("error", () => undefined)
        .on("close", () => {
          ways.delete(way);
          near.destroy();
          far.destroy();
        });
    }
    if (!swallows) go(way);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const ownPort = (server.address() as AddressInfo).port;
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${ownPort}`;
  return {
    url: url.href,
    close: async () => {
      const closed = once(server.close(), "close");
      for (const socket of travellers) socket.destroy();
      await closed;
    },
    swallow: () => {
      swallows = true;
      for (const [near, far] of ways) {
        near.unpipe(far).pause();
        far.unpipe(near).pause();
      }
    },
    release: () => {
      swallows = false;
      for (const way of ways) go(way);
    },
    reopen: async () => {
      await once(server.listen(ownPort, "127.0.0.1"), "listening");
    },
  };
}
