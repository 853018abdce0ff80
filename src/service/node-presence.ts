import type pg from "pg";
import { tellKnowledge } from "../identity/key-admin.ts";
import { openSession } from "../platform/db/connection.ts";
import { countPresent, enterPresence, type Presence, type Role } from "../platform/db/coordination.ts";
import { Repeat } from "../platform/runtime/repeat.ts";

/** How often the other nodes are counted: this is also how this one shows that it is there. */
const COUNT_MS = 1_000;
const ANSWER_MS_MAX = 5_000;

export interface NodePresenceOptions {
  readonly clientConfig: pg.ClientConfig;
  /** Names the node, for people. */
  readonly owner: string;
  readonly roles: readonly Role[];
  /** What it tells the others that it knows (src/identity/key-admin.ts). */
  readonly knowledge: readonly number[];
  counted(present: ReadonlyMap<Presence, number>): void;
  failed(error: unknown): void;
}

/**
 * The node's own session: by it the others know that the node is there, and it counts them. A lost one is opened again;
 * until then the counts stay as they were.
 */
export class NodePresence {
  readonly #options: NodePresenceOptions;
  #client: pg.Client | undefined;
  #repeat: Repeat | undefined;

  private constructor(options: NodePresenceOptions) {
    this.#options = options;
  }

  /** Enters the node, and counts for the first time: who serves after that knows its share. */
  static async enter(options: NodePresenceOptions): Promise<NodePresence> {
    const presence = new NodePresence(options);
    await presence.#connect();
    await presence.#count();
    presence.#repeat = new Repeat(() => presence.#look(), COUNT_MS, options.failed);
    return presence;
  }

  /** Why nothing that needs the database can be done now. */
  blockedReason(): string | undefined {
    return this.#client === undefined ? "The database does not answer." : undefined;
  }

  async stop(): Promise<void> {
    await this.#repeat?.stop();
    await this.#client?.end().catch(() => undefined);
  }

  async #connect(): Promise<void> {
    const { clientConfig, roles, owner, knowledge, failed } = this.#options;
    const config = { ...clientConfig, query_timeout: ANSWER_MS_MAX };
    this.#client = await openSession(config, "node", async (client) => {
      client.on("error", failed);
      client.on("end", () => {
        if (this.#client === client) this.#client = undefined;
      });
      await enterPresence(client, roles, owner);
      await tellKnowledge(client, knowledge);
    });
  }

  async #count(): Promise<void> {
    if (this.#client !== undefined) this.#options.counted(await countPresent(this.#client));
  }

  async #look(): Promise<void> {
    try {
      if (this.#client === undefined) await this.#connect();
      await this.#count();
    } catch (error) {
      const lost = this.#client;
      this.#client = undefined;
      await lost?.end().catch(() => undefined);
      throw error;
    }
  }
}
