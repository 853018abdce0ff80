import type pg from "pg";
import { announceKnowledge } from "../identity/key-admin.ts";
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
  /** The knowledge that it announces (src/identity/key-admin.ts). */
  readonly knowledge: readonly number[];
  counted(present: ReadonlyMap<Presence, number>): void;
  failed(error: unknown): void;
}

/** The node's own session, as the rest of the node sees it. */
export interface NodePresence {
  /** Why nothing that needs the database can be done now. */
  blockedReason(): string | undefined;
  stop(): Promise<void>;
}

/**
 * Enters the node in a session of its own: by it the others know that the node is there, and it counts them, for the first time
 * before this returns. A lost session is opened again; until then the counts stay as they were.
 */
export async function enterNode({
  clientConfig,
  owner,
  roles,
  knowledge,
  counted,
  failed,
}: NodePresenceOptions): Promise<NodePresence> {
  let client: pg.Client | undefined;
  const config = { ...clientConfig, query_timeout: ANSWER_MS_MAX };
  const connect = () =>
    openSession(config, "node", async (opened) => {
      opened.on("error", failed);
      opened.on("end", () => {
        if (client === opened) client = undefined;
      });
      await enterPresence(opened, roles, owner);
      await announceKnowledge(opened, knowledge);
    });
  const look = async () => {
    try {
      client ??= await connect();
      counted(await countPresent(client));
    } catch (error) {
      const lost = client;
      client = undefined;
      await lost?.end().catch(() => undefined);
      throw error;
    }
  };
  await look();
  const repeat = new Repeat(look, COUNT_MS, failed);
  return {
    blockedReason: () => (client === undefined ? "The database does not answer." : undefined),
    stop: async () => {
      await repeat.stop();
      await client?.end().catch(() => undefined);
    },
  };
}
