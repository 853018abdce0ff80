// Receives webhooks: WEBHOOK_SECRET=whsec_… PORT=8081 node webhooks.mjs
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";

const { WEBHOOK_SECRET = "", PORT = "8081" } = process.env;
if (!/^whsec_.{32,}$/.test(WEBHOOK_SECRET))
  throw new Error("Set WEBHOOK_SECRET to the secret of the endpoint (whsec_…).");
const key = Buffer.from(WEBHOOK_SECRET.slice("whsec_".length), "base64");
/** Ids of messages received before. In production, store them for a few days, so that they survive a restart. */
const seen = new Set();

/** Whether one of the signatures is valid, and the message is recent, so that it is not a replay. */
function isGenuine(id, timestamp, signatures, body) {
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300)) return false;
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
  return signatures.split(" ").some((signature) => {
    const given = Buffer.from(/^v1,(.+)$/.exec(signature)?.[1] ?? "", "base64");
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

createServer(async (request, response) => {
  const header = (name) => String(request.headers[`webhook-${name}`]);
  // A truncated body fails the signature check.
  const body = await buffer(request).catch(() => Buffer.alloc(0));
  if (!isGenuine(header("id"), header("timestamp"), header("signature"), body)) {
    response.writeHead(401).end();
    return;
  }
  // Answer at once: a message without an answer within 15 seconds is sent again.
  response.writeHead(204).end();
  if (seen.has(header("id"))) return;
  seen.add(header("id"));
  const { type, data } = JSON.parse(body.toString());
  if (type === "request.applied") console.log(data.requestId, data.resource, JSON.stringify(data.counts));
  else console.log(type);
}).listen(Number(PORT), () => console.log("waiting for messages until it is stopped"));
