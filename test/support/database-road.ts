import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type Passage, RoadWay, type Trickle } from "./road-way.ts";

const FAIR: Passage = { toDatabase: true, fromDatabase: true, trickle: undefined };

/**
 * A TCP address that leads to the database, and what networks do to those who use it:
 * - `close` cuts it, as a server that went away would, and `reopen` restores it;
 * - `swallow` has it take everything and bring nothing on, both ways or one, as a network that lost its way, until `release`;
 * - `slow` has it bring everything late and in pieces, until `release`;
 * - `ways` are the connections on it, each of which can be cut or lost by itself (RoadWay).
 * Both ends' kernels are answered all the while, so that no keepalive of theirs finds out.
 */
export class DatabaseRoad {
  /** The database's address by this road. */
  readonly url: string;
  readonly #ways = new Set<RoadWay>();
  readonly #server = createServer((near) => this.#begin(near));
  readonly #port: number;
  readonly #far: () => Socket;
  /** What it has brought from the database. */
  bytesBrought = 0;
  /** Of whoever is on the road, and of whoever sets out on it meanwhile. */
  #passage = FAIR;

  private constructor(databaseUrl: string, port: number) {
    const target = new URL(databaseUrl);
    const host = decodeURIComponent(target.hostname);
    const farPort = target.port || "5432";
    this.#far = () =>
      host.startsWith("/") ? connect(`${host}/.s.PGSQL.${farPort}`) : connect(Number(farPort), host);
    const url = new URL(databaseUrl);
    url.host = `127.0.0.1:${port}`;
    this.url = url.href;
    this.#port = port;
  }

  static async open(databaseUrl: string): Promise<DatabaseRoad> {
    const road = new DatabaseRoad(databaseUrl, await freePort());
    await road.reopen();
    return road;
  }

  get port(): number {
    return this.#port;
  }

  get ways(): readonly RoadWay[] {
    return [...this.#ways];
  }

  async close(): Promise<void> {
    const closed = once(this.#server.close(), "close");
    for (const way of this.#ways) way.destroy();
    await closed;
  }

  async reopen(): Promise<void> {
    await once(this.#server.listen(this.#port, "127.0.0.1"), "listening");
  }

  swallow({ toDatabase = true, fromDatabase = true } = {}): void {
    this.#change({ ...FAIR, toDatabase: !toDatabase, fromDatabase: !fromDatabase });
  }

  slow(trickle: Trickle): void {
    this.#change({ ...FAIR, trickle });
  }

  release(): void {
    this.#change(FAIR);
  }

  #change(passage: Passage): void {
    this.#passage = passage;
    for (const way of this.#ways) way.go(passage);
  }

  #begin(near: Socket): void {
    const far = this.#far().on("data", (chunk: Buffer) => {
      this.bytesBrought += chunk.length;
    });
    const way = new RoadWay(near, far, () => this.#ways.delete(way));
    this.#ways.add(way);
    way.go(this.#passage);
  }
}

/** A road to the database, open for all. */
export function openRoad(databaseUrl: string): Promise<DatabaseRoad> {
  return DatabaseRoad.open(databaseUrl);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await once(server.close(), "close");
  return port;
}
