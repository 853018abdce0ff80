import type pg from "pg";
import { announceKnowledge } from "../identity/key-admin.ts";
import { openSession } from "../platform/db/connection.ts";
import { countPresent, enterPresence, type Presence, type Role } from "../platform/db/coordination.ts";
import { Repeat } from "../platform/runtime/repeat.ts";

/** Interval for counting nodes, which also shows that this node is alive. */
const COUNT_MS = 1_000;
const ANSWER_MS_MAX = 5_000;

export interface NodePresenceOptions {
  readonly clientConfig: pg.ClientConfig;
  /** The node's name for display. */
  readonly owner: string;
  readonly roles: readonly Role[];
  /** The knowledge to announce (src/identity/key-admin.ts). */
  readonly knowledge: readonly number[];
  counted(present: ReadonlyMap<Presence, number>): void;
  failed(error: unknown): void;
}

/** The node's own database session. */
export interface NodePresence {
  /** The reason if the database is unavailable. */
  blockedReason(): string | undefined;
  stop(): Promise<void>;
}

/**
 * Registers the node in a separate session, which other nodes see, and counts them, first before this returns. Reconnects a lost session;
 * until then the counts are unchanged.
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
