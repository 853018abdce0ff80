import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { clientConfig } from "../src/platform/db/connection.ts";
import { startEmbeddedPostgres } from "../src/platform/db/embedded-postgres.ts";
import { createLogger } from "../src/platform/telemetry/log.ts";

/** A cluster for the good team and the limits, with the service's PostgreSQL version, settings and durability. */
export interface PeerDatabase {
  /** Creates a database of this name, and returns the environment variables to connect to it. */
  environmentOf(name: string): Promise<Readonly<Record<string, string>>>;
  readonly client: pg.Client;
  readonly postmasterPid: number;
  close(): Promise<void>;
}

export async function startPeerDatabase(): Promise<PeerDatabase> {
  const dataDir = await mkdtemp(join(tmpdir(), "bellhop-bench-peers-"));
  // If this runs as root, PostgreSQL's user must be able to enter.
  await chmod(dataDir, 0o755);
  const server = await startEmbeddedPostgres(
    dataDir,
    "service",
    createLogger({ level: "silent", pretty: false }),
  );
  const client = new pg.Client(clientConfig(server.address));
  await client.connect();
  const pidFile = await readFile(join(server.dataDirectory, "postmaster.pid"), "utf8");
  const { host, port, user, password } = client;
  return {
    client,
    postmasterPid: Number(pidFile.split("\n")[0]),
    environmentOf: async (name) => {
      await client.query(`create database ${pg.escapeIdentifier(name)}`);
      return {
        PGHOST: host,
        PGPORT: String(port),
        PGUSER: user ?? "",
        PGPASSWORD: String(password),
        PGDATABASE: name,
      };
    },
    close: async () => {
      await client.end();
      await server.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
