/**
 * A typical implementation: validates records with a compiled schema, upserts each batch in one statement, and commits
 * before the 202. Connects by the PG… environment variables and reports its port to its parent.
 */
import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import addFormats from "ajv-formats";
import fastify from "fastify";
import pg from "pg";
import { batchSchema, RESOURCES, type ResourceModel } from "./resources.ts";
import { tableStatement, upsertStatement } from "./statements.ts";

const POOL = 10;
const BODY_BYTES_MAX = 67_108_864;
const DEADLOCK = "40P01";
const TRIES = 5;

type Row = Record<string, string>;
/** The batch's original text, which PostgreSQL parses, so that nothing is serialized again. */
const texts = new WeakMap<object, string>();

/** The batch as JSON with only the newest record of each key. */
function jsonOf(batch: readonly Row[], { key, sourceTime }: ResourceModel): string {
  const newest = new Map<string, Row>();
  for (const row of batch) {
    const place = `${row["clientCode"]}\0${row["propertyCode"]}\0${row[key]}`;
    const before = newest.get(place);
    if (before === undefined || Date.parse(row[sourceTime] ?? "") >= Date.parse(before[sourceTime] ?? "")) {
      newest.set(place, row);
    }
  }
  const text = texts.get(batch);
  return text !== undefined && newest.size === batch.length ? text : JSON.stringify([...newest.values()]);
}

const pool = new pg.Pool({ max: POOL });
for (const model of Object.values(RESOURCES)) await pool.query(tableStatement(model));
const app = fastify({
  bodyLimit: BODY_BYTES_MAX,
  ajv: {
    customOptions: { coerceTypes: false, removeAdditional: false, allowUnionTypes: true },
    plugins: [addFormats.default],
  },
});
app.addContentTypeParser("application/json", { parseAs: "string" }, (_request, text, done) => {
  try {
    const batch = JSON.parse(text as string) as object;
    texts.set(batch, text as string);
    done(null, batch);
  } catch (error) {
    done(Object.assign(error as Error, { statusCode: 400 }));
  }
});
for (const [resource, model] of Object.entries(RESOURCES)) {
  const statement = { name: `upsert ${resource}`, text: upsertStatement(model) };
  app.post(`/api/public/v1/${resource}`, { schema: { body: batchSchema(model) } }, async (request, reply) => {
    const json = jsonOf(request.body as Row[], model);
    for (let tries = 1; ; tries += 1) {
      try {
        await pool.query({ ...statement, values: [json] });
        break;
      } catch (error) {
        if ((error as { code?: string }).code !== DEADLOCK || tries === TRIES) throw error;
      }
    }
    return reply.code(202).send({ requestId: randomUUID() });
  });
}
await app.listen({ port: Number(process.env["PORT"] ?? 0), host: "127.0.0.1" });
process.send?.({ port: (app.server.address() as AddressInfo).port });
process.on("disconnect", () => process.exit());
