import { readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";

/** Runs work in a session of the embedded server's superuser, who can create extensions and see every statement. */
export async function asSuperuser<Result>(
  config: pg.ClientConfig,
  dataDir: string,
  use: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const password = (await readFile(join(dataDir, "postgres-superuser-password"), "utf8")).trim();
  const client = new pg.Client({ ...config, user: "postgres", password });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
