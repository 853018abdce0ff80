import { createHmac, randomBytes } from "node:crypto";

/** Standard Webhooks 1.0, "Signature scheme": 24 to 64 bytes. */
const SECRET_BYTES = 32;
const PREFIX = "whsec_";

/** A new secret in the form shown to its receiver: `whsec_` and base64. */
export function newSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString("base64");
}

/** The signed content: message id, time of the attempt in seconds, and the body. */
interface SignedContent {
  readonly id: string;
  readonly timestampSeconds: number;
  readonly body: string;
}

/** The headers of one attempt (Standard Webhooks 1.0), with a signature per live secret. */
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
