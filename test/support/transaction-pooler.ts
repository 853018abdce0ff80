import { connect, createServer, type Server, type Socket } from "node:net";

/**
 * A minimal transaction pooler like pgbouncer: a client that begins a transaction gets the most recently used free
 * server connection until the transaction ends. Each client first logs in on a connection that then joins the pool.
 */
export async function startTransactionPooler(target: {
  host: string;
  port: number;
}): Promise<{ port: number; close(): void }> {
  const free: Socket[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((client) => {
    sockets.add(client);
    let current: Socket | undefined = connect(
      target.host.startsWith("/") ? { path: `${target.host}/.s.PGSQL.${target.port}` } : target,
    );
    sockets.add(current);
    let waiting: Buffer[] = [];
    const attach = (upstream: Socket) => {
      current = upstream;
      upstream.removeAllListeners("data");
      upstream.on("data", (data) => {
        client.write(data);
        if (!endsTransaction(data)) return;
        free.push(upstream);
        if (current === upstream) current = undefined;
      });
    };
    attach(current);
    current.on("error", () => client.destroy());
    client.on("error", () => undefined);
    client.on("data", (data) => {
      // Terminate ends the client's session, not the server's.
      if (data[0] === 0x58) return void client.end();
      if (current === undefined) {
        const upstream = free.pop();
        if (upstream === undefined) return void waiting.push(data);
        attach(upstream);
      }
      for (const earlier of waiting) current?.write(earlier);
      waiting = [];
      current?.write(data);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { port: (server.address() as { port: number }).port, close };
}

/** ReadyForQuery, state idle, stands at the end of an answer outside a transaction. */
function endsTransaction(data: Buffer): boolean {
  return data.subarray(-6).equals(Buffer.from([0x5a, 0, 0, 0, 5, 0x49]));
}
