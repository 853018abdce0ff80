import type { Backend, DatabaseError, Peer, Statement } from "./backend.ts";
import type { SimulatedDatabase } from "./database.ts";
import type { SimulatedNode } from "./node.ts";
import { Wire } from "./wire.ts";

/** src/platform/db/connection.ts: how long to wait for a connection. */
const CONNECT_TIMEOUT_MS = 10_000;
/** tcp_user_timeout and the keepalives of src/platform/db/connection.ts: then the server gives a silent client up. */
export const SERVER_PATIENCE_MS = 30_000;
/** keepAliveInitialDelayMillis of src/platform/db/connection.ts: how soon a silent server is asked whether it is there. */
const CLIENT_KEEPALIVE_MS = 10_000;

/** How one kind of session is opened. */
export interface SessionKind {
  readonly application: "accept" | "apply";
  readonly queryTimeoutMs: number;
  /** Of the statements that have bounds of their own. */
  readonly queryTimeoutsMs?: Readonly<Record<string, number>>;
  readonly statementTimeoutMs: number;
}

interface Query {
  readonly name: string;
  readonly statement: Statement;
  readonly deadline: number;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
  isSettled: boolean;
}

/**
 * A connection as a node holds it, with the ways of a pg.Client: one query after another, an answer that comes too late is
 * an error and the connection stays busy, `close` waits for the server where nothing is running.
 */
export class Connection implements Peer {
  readonly node: SimulatedNode;
  readonly #database: SimulatedDatabase;
  readonly #kind: SessionKind;
  readonly #toServer: Wire;
  readonly #toClient: Wire;
  readonly #queue: Query[] = [];
  #active: Query | undefined;
  #backend: Backend | undefined;
  #lost: (error: Error) => void = () => undefined;
  #isOpen = true;
  #isWatched = false;
  #isGivenUp = false;
  #closed: (() => void) | undefined;

  private constructor(node: SimulatedNode, kind: SessionKind) {
    this.node = node;
    this.#database = node.database;
    this.#kind = kind;
    this.#toServer = new Wire(node.database.scheduler, node.host.toDatabase);
    this.#toClient = new Wire(node.database.scheduler, node.host.fromDatabase);
    node.connections.add(this);
    node.host.connections.push(this);
  }

  /** Connects; rejects when the server refuses or does not answer in time. */
  static open(node: SimulatedNode, kind: SessionKind, lost: (error: Error) => void): Promise<Connection> {
    const connection = new Connection(node, kind);
    return new Promise((resolve, reject) => {
      const callOff = node.time.after(CONNECT_TIMEOUT_MS, () => {
        connection.abandon();
        reject(new Error("timeout expired"));
      });
      connection.#lost = (error) => {
        callOff();
        reject(error);
      };
      connection.#knock(() => {
        callOff();
        connection.#lost = lost;
        resolve(connection);
      });
    });
  }

  query(name: string, statement: Statement): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (!this.#isOpen) return reject(new Error("Client was closed and is not queryable"));
      const { queryTimeoutMs, queryTimeoutsMs } = this.#kind;
      const deadline = this.node.time.now() + (queryTimeoutsMs?.[name] ?? queryTimeoutMs);
      this.#queue.push({ name, statement, deadline, resolve, reject, isSettled: false });
      this.#watch();
      this.#pulse();
    });
  }

  /** Resolves once the connection is gone; a server that cannot be reached does not say so. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      if (!this.#isOpen && this.#closed === undefined) return resolve();
      this.#isOpen = false;
      this.#closed = resolve;
      if (this.#active !== undefined) {
        this.abandon();
        this.node.time.nextTurn(() => this.#end(new Error("Connection terminated")));
      } else this.#toServer.send(() => this.#backend?.clientGone());
    });
  }

  /** The client's end of it is gone at once; the server hears of that when it can. */
  abandon(): void {
    this.node.connections.delete(this);
    this.#toClient.cut();
    this.#toServer.send(() => this.#backend?.clientGone());
  }

  /** The client's end vanishes and the server hears nothing: it gives up after a while. */
  vanish(): void {
    this.node.connections.delete(this);
    this.#toClient.cut();
    this.#toServer.cut();
    const backend = this.#backend;
    this.#database.scheduler.after(SERVER_PATIENCE_MS, () => backend?.clientGone());
  }

  /** Something between the two ends it for both. */
  cut(): void {
    this.#toServer.cut();
    this.#toClient.cut();
    this.#database.scheduler.after(this.node.host.toDatabase.latencyMs(), () => this.#backend?.clientGone());
    const error = new Error("read ECONNRESET");
    this.#database.scheduler.after(this.node.host.fromDatabase.latencyMs(), () =>
      this.node.deliver(() => this.#end(error)),
    );
  }

  /** The road has been closed for so long that the server gave up; nobody notifies the client. */
  serverGivesUp(): void {
    if (this.#backend === undefined || !this.#backend.isAlive) return;
    this.#isGivenUp = true;
    this.#toClient.cut();
    this.#backend.clientGone();
  }

  reopen(): void {
    this.#toServer.reopen();
    this.#toClient.reopen();
    // Nobody answers the next keepalive of a client that waits for its server, which has given up.
    if (this.#isGivenUp) this.#database.scheduler.after(CLIENT_KEEPALIVE_MS, () => this.#reset());
  }

  /** Whether it is still held open by its node, and nobody is at the other end. */
  get isForsaken(): boolean {
    return this.#isOpen && this.#backend !== undefined && !this.#backend.isAlive;
  }

  get isGone(): boolean {
    return this.node.isDead;
  }

  answer(result: unknown): void {
    this.#hear(() => this.#settle((query) => query.resolve(result)));
  }

  refuse(error: DatabaseError): void {
    this.#hear(() => this.#settle((query) => query.reject(error)));
  }

  closed(error: Error): void {
    this.#hear(() => this.#end(error));
  }

  get backend(): Backend | undefined {
    return this.#backend;
  }

  #knock(opened: () => void): void {
    this.#toServer.send(() => {
      const error = this.#database.refuseConnection();
      if (error !== undefined) return this.closed(error);
      this.#backend = this.#database.start(this.#kind.application, this.#kind.statementTimeoutMs, this);
      this.#hear(opened);
    });
  }

  #hear(call: () => void): void {
    this.#toClient.send(() => this.node.deliver(call));
  }

  #pulse(): void {
    if (this.#active !== undefined) return;
    const next = this.#queue.shift();
    if (next === undefined) return;
    this.#active = next;
    this.#toServer.send(() => {
      const backend = this.#backend;
      if (backend?.isAlive && !backend.isClientGone) backend.receive(next.name, next.statement);
      // The host of a server that has gone answers with a reset.
      else this.#database.scheduler.after(this.node.host.fromDatabase.latencyMs(), () => this.#reset());
    });
  }

  #reset(): void {
    this.node.deliver(() => this.#end(new Error("read ECONNRESET")));
  }

  #settle(answer: (query: Query) => void): void {
    const query = this.#active;
    this.#active = undefined;
    if (query !== undefined && !query.isSettled) {
      query.isSettled = true;
      answer(query);
    }
    this.#pulse();
  }

  /** The connection is gone, and with it everything that was asked. */
  #end(error: Error): void {
    if (!this.node.connections.has(this) && this.#closed === undefined) return;
    const wasOpen = this.#isOpen;
    this.#forget();
    const unanswered = [...(this.#active === undefined ? [] : [this.#active]), ...this.#queue.splice(0)];
    this.#active = undefined;
    for (const query of unanswered) {
      if (!query.isSettled) query.reject(error);
      query.isSettled = true;
    }
    const closed = this.#closed;
    this.#closed = undefined;
    if (closed !== undefined) closed();
    else if (wasOpen) this.#lost(error);
  }

  #forget(): void {
    this.#isOpen = false;
    this.node.connections.delete(this);
  }

  /** One timer a connection, for the query that is late first. */
  #watch(): void {
    if (this.#isWatched) return;
    const deadlines = [...(this.#active === undefined ? [] : [this.#active]), ...this.#queue]
      .filter((query) => !query.isSettled)
      .map(({ deadline }) => deadline);
    if (deadlines.length === 0 || !this.node.connections.has(this)) return;
    this.#isWatched = true;
    this.node.time.after(Math.min(...deadlines) - this.node.time.now(), () => {
      this.#isWatched = false;
      const now = this.node.time.now();
      const late = [...(this.#active === undefined ? [] : [this.#active]), ...this.#queue].filter(
        (query) => query.deadline <= now && !query.isSettled,
      );
      for (const query of late) {
        query.isSettled = true;
        const at = this.#queue.indexOf(query);
        if (at >= 0) this.#queue.splice(at, 1);
        query.reject(new Error("Query read timeout"));
      }
      this.#watch();
    });
  }
}
