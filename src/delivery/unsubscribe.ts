import { createHmac, timingSafeEqual } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type pg from "pg";
import { NotFoundError } from "../platform/errors/operator-error.ts";
import { escapeHtml } from "../platform/runtime/escape-html.ts";
import { findSubscription, pauseSubscription, placeOf, type Subscription } from "./subscription.ts";

export const UNSUBSCRIBE_PATH = "/unsubscribe";

/** The actor in the audit and the list of subscriptions. */
const WHO = "unsubscribe link";

const signatureOf = (key: Buffer, subscriptionId: string): Buffer =>
  createHmac("sha256", key).update(`unsubscribe\0${subscriptionId}`).digest();

/** The part of a link that names a subscription. It allows nothing else, and does not expire. */
export const unsubscribeTokenOf = (key: Buffer, subscriptionId: string): string =>
  `${subscriptionId}.${signatureOf(key, subscriptionId).toString("base64url")}`;

/** The subscription that a token names; undefined if the token is not one of this installation. */
function readUnsubscribeToken(key: Buffer, token: string): string | undefined {
  const [subscriptionId = "", signature = ""] = token.split(".", 2);
  const given = Buffer.from(signature, "base64url");
  const right = signatureOf(key, subscriptionId);
  return given.length === right.length && timingSafeEqual(given, right) ? subscriptionId : undefined;
}

const PAGE_POLICY = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

function sendPage(reply: FastifyReply, status: number, title: string, text: string, form = ""): FastifyReply {
  return reply
    .code(status)
    .header("content-security-policy", PAGE_POLICY)
    .type("text/html; charset=utf-8")
    .send(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>${title}</title></head>
<body>
<h1>${title}</h1>
<p>${escapeHtml(text)}</p>
${form}</body>
</html>
`);
}

const nameOf = (subscription: Subscription) =>
  `${subscription.kind === "report" ? "The daily report" : "Alerts"} of ${placeOf(subscription, "all properties")}`;

export interface UnsubscribeContext {
  readonly pool: pg.Pool;
  readonly cursorKey: Buffer;
}

/**
 * Unsubscribes by a signed link, without a login (RFC 8058). A GET only asks, because mail programs and their scanners open links; a POST
 * of the page's form, or of the mail program, pauses the subscription. The body of a POST says nothing that the link does not.
 */
export function registerUnsubscribeRoutes(
  app: FastifyInstance,
  { pool, cursorKey }: UnsubscribeContext,
): void {
  const path = `${UNSUBSCRIBE_PATH}/:token`;
  const find = async (request: FastifyRequest): Promise<Subscription | undefined> => {
    const { token } = request.params as { token: string };
    const subscriptionId = readUnsubscribeToken(cursorKey, token);
    if (subscriptionId === undefined) return undefined;
    return findSubscription(pool, subscriptionId).catch((error: unknown) => {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    });
  };
  const unknown = (reply: FastifyReply) =>
    sendPage(reply, 404, "No subscription", "The link is incomplete, or the subscription was removed.");
  app.get(path, async (request, reply) => {
    const found = await find(request);
    if (found === undefined) return unknown(reply);
    if (found.pausedAt !== null) return sendPage(reply, 200, "Unsubscribed", `${nameOf(found)} is not sent.`);
    const form = `<form method="post"><button>Unsubscribe</button></form>\n`;
    return sendPage(reply, 200, "Unsubscribe?", `${nameOf(found)} will no longer be sent.`, form);
  });
  app.post(path, async (request, reply) => {
    const found = await find(request);
    if (found === undefined) return unknown(reply);
    await pauseSubscription({ pool, who: WHO }, found);
    return sendPage(
      reply,
      200,
      "Unsubscribed",
      `${nameOf(found)} is no longer sent. To get it again, resume the subscription in the console.`,
    );
  });
}
