/**
 * `npm run generate -- schema` writes sql/schema.sql, the schema of a database after all migrations. `npm run check -- schema`
 * fails with the difference if the committed file differs.
 */
import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { clientConfig } from "../src/platform/db/connection.ts";
import { migrate } from "../src/platform/db/migrate.ts";
import { createLogger } from "../src/platform/telemetry/log.ts";
import { startTestServer } from "../test/support/test-server.ts";
import { introspectSchema } from "./introspect-schema.ts";

const HEADER = `-- What a fresh database introspects to, to be read and to be compared; sql/migrations makes it.
-- Written by \`npm run generate -- schema\`, held to the migrations by \`npm run check -- schema\`.

`;

const path = fileURLToPath(new URL("../sql/schema.sql", import.meta.url));
const fresh = HEADER + (await freshSchema());
if (!process.argv.includes("--check")) {
  await writeFile(path, fresh);
  console.log("wrote sql/schema.sql");
} else if (fresh !== (await readFile(path, "utf8").catch(() => ""))) {
  spawnSync("diff", ["-u", "--label", "sql/schema.sql", path, "--label", "a fresh database", "-"], {
    input: fresh,
    stdio: ["pipe", "inherit", "inherit"],
  });
  console.error(
    "\nThe committed schema is not what the migrations make: npm run generate -- schema, and look at the difference.",
  );
  process.exitCode = 1;
}

/** Uses the embedded server, because major versions of PostgreSQL print schemas differently. */
async function freshSchema(): Promise<string> {
  const server = await startTestServer();
  try {
    const config = clientConfig({ connectionString: server.url });
    await migrate(config, createLogger({ level: "warn", pretty: true, fileDescriptor: 2 }));
    const client = new pg.Client(config);
    await client.connect();
    try {
      return await introspectSchema(client);
    } finally {
      await client.end();
    }
  } finally {
    await server.stop();
  }
}
