import assert from "node:assert/strict";
import { test } from "node:test";
import { Webhook, WebhookVerificationError } from "standardwebhooks";
import { newSecret, signedHeaders } from "./signature.ts";

const content = (body: string) => ({ id: "msg_1", timestampSeconds: Math.floor(Date.now() / 1_000), body });

test("the published library verifies signatures, also of non-ASCII bodies", () => {
  const secret = newSecret();
  const body = JSON.stringify({ type: "webhook.test", data: { name: "Zoë, 東京" } });
  const headers = signedHeaders(content(body), [secret]);
  assert.deepEqual(new Webhook(secret).verify(body, { ...headers }), JSON.parse(body));
  assert.throws(() => new Webhook(secret).verify(`${body} `, { ...headers }), WebhookVerificationError);
  assert.throws(() => new Webhook(newSecret()).verify(body, { ...headers }), WebhookVerificationError);
});

test("with two secrets either of them verifies it", () => {
  const [older, newer] = [newSecret(), newSecret()];
  const headers = signedHeaders(content("{}"), [newer, older]);
  for (const secret of [older, newer]) assert.deepEqual(new Webhook(secret).verify("{}", { ...headers }), {});
});
