/**
 * PostGraphile 5 with its usual preset, over the good team's tables: a function that takes a batch as JSON is a mutation,
 * which is how its users write in bulk. The types of the columns are the only check.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import pg from "pg";
import { postgraphile } from "postgraphile";
import { makePgService } from "postgraphile/adaptors/pg";
import { grafserv } from "postgraphile/grafserv/node";
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";
import { RESOURCES } from "../resources.ts";
import { tableStatement, upsertStatement } from "../statements.ts";

const pool = new pg.Pool({ max: 10 });
const requests: Record<string, object> = {};
for (const [resource, model] of Object.entries(RESOURCES)) {
  await pool.query(tableStatement(model));
  await pool.query(`create or replace function push_${resource}(batch jsonb) returns integer language sql volatile as
    $$ ${upsertStatement(model, "batch")}; select 1 $$`);
  const name = `push${resource.slice(0, 1).toUpperCase()}${resource.slice(1)}`;
  const query = `mutation($batch: JSON!) { ${name}(input: { batch: $batch }) { result } }`;
  const [prefix, suffix] = JSON.stringify({ query, variables: { batch: "@" } }).split('"@"');
  requests[resource] = { path: "/graphql", prefix, suffix };
}
const instance = postgraphile({
  extends: [PostGraphileAmberPreset],
  pgServices: [makePgService({ pool, schemas: ["public"] })],
  grafserv: { maxRequestLength: 67_108_864, graphiql: false, watch: false },
});
const server = createServer();
await instance.createServ(grafserv).addTo(server);
server.listen(Number(process.env["PORT"] ?? 0), "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  process.send?.({ port, requests, status: 200, answerHolds: '{"result":1}' });
});
process.on("disconnect", () => process.exit());
