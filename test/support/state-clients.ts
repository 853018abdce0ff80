import pg from "pg";
import { type LogPart, readBacklog } from "../../src/apply/backlog.ts";
import { bucketsOf } from "../../src/apply/pipeline.ts";
import { openStateSession } from "../../src/apply/state/look-up.ts";
import { STATE_SCHEMA } from "../../src/apply/state/state-schema.ts";
import { ALL_BUCKETS } from "../../src/ingest/log/part-name.ts";
import { BucketServers, holdBuckets, nameShards } from "../../src/platform/db/dialect.ts";
import type { TestDatabase } from "./database.ts";

/** Connections as an applier has them: one, or on Citus one to each worker. */
export async function openStateClients(
  { clientConfig, pool }: TestDatabase,
  failed: (error: unknown) => void = () => undefined,
): Promise<pg.Client[]> {
  const servers = (await BucketServers.find(clientConfig))?.all ?? [undefined];
  return Promise.all(
    servers.map(async (server) => {
      const client = new pg.Client(server?.clientConfig ?? clientConfig);
      client.on("error", failed);
      await client.connect();
      if (server !== undefined) nameShards(client, server, pool);
      await openStateSession(client, STATE_SCHEMA);
      return client;
    }),
  );
}

/** What is next at the first of these that has something; what follows on that connection is about these buckets. */
export async function readNext(
  clients: readonly pg.Client[],
  recordsMax: number,
): Promise<{ readonly client: pg.Client; readonly parts: LogPart[] } | undefined> {
  for (const client of clients) {
    const parts = await readBacklog(client, ALL_BUCKETS, recordsMax);
    if (parts.length === 0) continue;
    holdBuckets(client, bucketsOf(parts));
    return { client, parts };
  }
  return undefined;
}
