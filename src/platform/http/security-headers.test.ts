import assert from "node:assert/strict";
import { test } from "node:test";
import helmet from "@fastify/helmet";
import fastify from "fastify";
import { SECURITY_HEADERS } from "./security-headers.ts";

test("the hardening headers are those that Helmet would send", async () => {
  const app = fastify();
  app.get("/bare", () => "");
  const { headers: bare } = await app.inject("/bare");
  await app.close();
  const hardened = fastify();
  await hardened.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { "default-src": ["'none'"], "frame-ancestors": ["'none'"] },
    },
  });
  hardened.get("/bare", () => "");
  const { headers } = await hardened.inject("/bare");
  await hardened.close();
  const added = Object.entries(headers).filter(([name]) => !(name in bare));
  assert.deepEqual(SECURITY_HEADERS, Object.fromEntries(added));
});
