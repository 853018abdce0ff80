/**
 * What a typical team writes: every record checked by zod, then written by an INSERT of its own, all in one transaction.
 * Takes PostgreSQL from the PG… variables of the environment and reports the port to its parent.
 */
import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import express from "express";
import pg from "pg";
import { z } from "zod";
import { batchSchema, RESOURCES } from "../resources.ts";
import { insertStatement, tableStatement } from "../statements.ts";

const pool = new pg.Pool({ max: 10 });
const app = express();
app.use(express.json({ limit: "64mb" }));
for (const [resource, model] of Object.entries(RESOURCES)) {
  const schema = z.fromJSONSchema(batchSchema(model) as Parameters<typeof z.fromJSONSchema>[0]);
  await pool.query(tableStatement(model));
  const text = insertStatement(model);
  const fields = Object.entries(model.fields);
  app.post(`/api/public/v1/${resource}`, async (request, response) => {
    const parsed = schema.safeParse(request.body);
    if (!parsed.success) {
      response.status(400).json({ message: "invalid", issues: parsed.error.issues });
      return;
    }
    const client = await pool.connect();
    try {
      await client.query("begin");
      for (const record of parsed.data as Record<string, unknown>[]) {
        const values = fields.map(([field, [, column]]) =>
          column === "jsonb" && record[field] !== undefined ? JSON.stringify(record[field]) : record[field],
        );
        await client.query({ name: `insert ${resource}`, text, values });
      }
      await client.query("commit");
    } catch (error) {
      await client.query("rollback");
      throw error;
    } finally {
      client.release();
    }
    response.status(202).json({ requestId: randomUUID() });
  });
}
const server = app.listen(Number(process.env["PORT"] ?? 0), "127.0.0.1", () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
process.on("disconnect", () => process.exit());
