/**
 * Directus over tables with one key column, as it wants them: a batch is a POST of an array of items. It can only add
 * items, so it takes part where all keys are new.
 */
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { RESOURCES } from "../resources.ts";
import "./without-isolates.ts";

const token = randomUUID();
const { PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE } = process.env;
Object.assign(process.env, {
  DB_CLIENT: "pg",
  DB_HOST: PGHOST,
  DB_PORT: PGPORT,
  DB_USER: PGUSER,
  DB_PASSWORD: PGPASSWORD,
  DB_DATABASE: PGDATABASE,
  SECRET: randomUUID(),
  ADMIN_EMAIL: "admin@example.com",
  ADMIN_PASSWORD: randomUUID(),
  ADMIN_TOKEN: token,
  TELEMETRY: "false",
  WEBSOCKETS_ENABLED: "false",
  LOG_LEVEL: "error",
  MAX_PAYLOAD_SIZE: "64mb",
  MAX_BATCH_MUTATION: "Infinity",
});
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const client = new pg.Client();
await client.connect();
const requests: Record<string, object> = {};
for (const [resource, { table, fields }] of Object.entries(RESOURCES)) {
  const columns = Object.entries(fields).map(([field, [, type]]) => `"${field}" ${type}`);
  await client.query(
    `create table ${table} (id bigint generated always as identity primary key, ${columns.join(", ")})`,
  );
  requests[resource] = { path: `/items/${table}?fields=id`, prefix: "", suffix: "" };
}
await client.end();
execFileSync(
  process.execPath,
  ["--import", here("without-isolates.ts"), here("node_modules/@directus/api/dist/cli/run.js"), "bootstrap"],
  { stdio: ["ignore", "ignore", "inherit"] },
);
const { createServer } = await import("@directus/api/server");
const server = await createServer();
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  process.send?.({ port, requests, status: 200, headers: [`Authorization: Bearer ${token}`] });
});
process.on("disconnect", () => process.exit());
