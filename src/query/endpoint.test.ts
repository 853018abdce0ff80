import assert from "node:assert/strict";
import { test } from "node:test";
import fastify from "fastify";
import type { AdmissionContext } from "../identity/authorize.ts";
import type { Principal } from "../identity/permissions.ts";
import { createRateLimiter } from "../identity/rate-limiter.ts";
import { jsonAnswer } from "../platform/http/openapi/errors.ts";
import { component, objectOf, text } from "../platform/http/openapi/schema.ts";
import { word } from "../platform/http/parameters.ts";
import { endpointOf, registerEndpoints } from "./endpoint.ts";

const principal: Principal = {
  clientId: "bhc_one",
  scopes: new Set(["read"]),
  grants: new Map(),
  requestRate: 10,
  requestBurst: 10,
  tokenId: "one",
  replyToOrigins: [],
  nulls: "specified",
  certificationId: null,
};
const context: AdmissionContext = {
  authenticator: {
    verifyBearer: () => ({ kind: "ok", principal, version: 1 }),
    verifyAgain: () => principal,
  },
  rateLimiter: createRateLimiter(() => 0),
  nodes: () => 1,
  waitAfterTooMany: (_, seconds) => seconds,
};

const GREETING = component("Greeting", objectOf("A greeting.", { words: text("The words.", 64, "Hello") }));

const greeting = endpointOf<AdmissionContext>()({
  method: "get",
  path: "/greetings/{name}",
  tag: "Greetings",
  scopes: ["read"],
  operationId: "getGreeting",
  summary: "Get a greeting",
  description: "A greeting.",
  parameters: { tone: word("Its tone.", ["kind", "short"], "kind", "short") },
  answer: jsonAnswer("A greeting.", GREETING, { a: { words: "Hello" } }),
  async work({ parameters: { tone }, clientId }) {
    const greeted = { secret: 1, words: `${tone} to ${clientId}` };
    return greeted;
  },
});

test("an endpoint answers its parameters, and only the fields of its schema", async () => {
  const app = fastify();
  registerEndpoints(app, context, [greeting]);
  const answered = await app.inject("/greetings/x?tone=kind");
  assert.equal(answered.statusCode, 200);
  assert.equal(answered.body, '{"words":"kind to bhc_one"}');
  assert.equal((await app.inject("/greetings/x")).body, '{"words":"short to bhc_one"}');
  await app.close();
});
