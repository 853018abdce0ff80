import { randomBytes, randomUUID } from "node:crypto";
import type { Pool } from "pg";
import { readStatement } from "../db/statement.ts";
import type { Sealer } from "./seal.ts";

const ADD = readStatement(new URL("./sql/add-instance-value.sql", import.meta.url));
const READ = readStatement(new URL("./sql/read-instance-value.sql", import.meta.url));

const CURSOR_KEY = "cursor-key";
const ISSUER = "auth.issuer";
const AUDIENCE = "auth.audience";

/** The stored value; made and stored when there is none yet. With many nodes starting, the first one decides. */
async function readOrDecide(pool: Pool, name: string, decide: () => string): Promise<string> {
  const stored = await pool.query<{ value: string }>({ ...READ, values: [name] });
  if (stored.rows[0] !== undefined) return stored.rows[0].value;
  await pool.query({ ...ADD, values: [name, decide()] });
  const decided = await pool.query<{ value: string }>({ ...READ, values: [name] });
  const value = decided.rows[0]?.value;
  if (value === undefined) throw new Error(`bellhop.instance lost ${name}`);
  return value;
}

/**
 * What cursors are sealed with (32 bytes): the same on all nodes, of this installation alone, and for ever, so that a cursor which
 * a client keeps stays good whatever else is rotated.
 */
export async function readCursorKey(pool: Pool, sealer: Sealer): Promise<Buffer> {
  const stored = await readOrDecide(pool, CURSOR_KEY, () => sealer.seal(CURSOR_KEY, randomBytes(32)));
  return sealer.open(CURSOR_KEY, stored);
}

/** Who issues the tokens and for whom, the same on every node and for ever (docs/decisions/0002-issuer.md). */
export interface TokenParties {
  readonly issuer: string;
  readonly audience: string;
}

/** Reads issuer and audience; the first node to need them stores its own address as the issuer. */
export async function readTokenParties(pool: Pool, authUrl: () => string): Promise<TokenParties> {
  const issuer = await readOrDecide(pool, ISSUER, () => requireAddress(authUrl()));
  const audience = await readOrDecide(pool, AUDIENCE, () => `urn:uuid:${randomUUID()}`);
  return { issuer, audience };
}

/** What is stored stays for ever, so an address that is not known yet must not be. */
function requireAddress(authUrl: string): string {
  if (URL.canParse(authUrl)) return authUrl;
  throw new Error("the service does not know its own address yet");
}
