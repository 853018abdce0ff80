import { createHmac, randomBytes } from "node:crypto";

/** Standard Webhooks 1.0, "Signature scheme": 24 to 64 bytes. */
const SECRET_BYTES = 32;
const PREFIX = "whsec_";

/** A new secret as its receiver is shown it: `whsec_` and base64. */
export function newSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString("base64");
}

/** What a message is signed by: its id, the second of this try, and the body as it is sent. */
export interface SignedContent {
  readonly id: string;
  readonly timestampSeconds: number;
  readonly body: string;
}

/**
 * The headers of one try (Standard Webhooks 1.0): `webhook-signature` has one signature a live secret, with a space between them, so
 * that a receiver that has the old or the new one finds its own.
 */
export function signedHeaders(
  { id, timestampSeconds, body }: SignedContent,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), "base64");
    const hmac = createHmac("sha256", key).update(`${id}.${timestampSeconds}.${body}`);
    return `v1,${hmac.digest("base64")}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestampSeconds),
    "webhook-signature": signatures.join(" "),
  };
}
