import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A TCP address that leads to the database until it is closed, as a network or a server that went away would. `close` cuts it, `reopen` restores it. */
export async function openRoad(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const host = decodeURIComponent(target.hostname);
  const port = target.port || "5432";
  const travellers = new Set<Socket>();
  const server = createServer((near) => {
    const far = host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect(Number(port), host);
    for (const socket of [near, far]) {
      travellers.add(socket);
      socket.on("error", () => undefined).on("close", () => near.destroy() && far.destroy());
    }
    near.pipe(far).pipe(near);
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
    reopen: async () => {
      await once(server.listen(ownPort, "127.0.0.1"), "listening");
    },
  };
}
