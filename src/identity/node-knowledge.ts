import { createHash } from "node:crypto";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";

const TELL = namedStatement(
  "tell-knowledge",
  `select pg_advisory_lock_shared($1::integer, known) from unnest($2::integer[]) as known`,
);
const FIND_WITHOUT = readStatement(new URL("./sql/find-nodes-without.sql", import.meta.url));

/**
 * What nodes tell each other to know, so that nothing is changed into a form that one of them could not read. A node's own
 * session (src/service/node-presence.ts) tells by shared advisory locks, which end with it and which a version that knows
 * nothing of this does not hold. The class of these locks; any constant will do, as long as nothing else takes it.
 */
export const KNOWLEDGE_LOCKS = 73_020_270;

/** Locks are named by 31 bits: what is told of a key is of no use to whoever reads it. */
function lockOf(text: string | Buffer): number {
  return createHash("sha256").update("bellhop knowledge\0").update(text).digest().readUInt32BE() >>> 1;
}

/** That a node opens what this KEY_ENCRYPTION_KEY (base64) sealed. */
export function knowledgeOfKey(keyEncryptionKey: string): number {
  return lockOf(Buffer.from(keyEncryptionKey, "base64"));
}

/** That a node takes digests of any pepper, and parts that are sealed: what versions before 0.2.0 do not. */
export const KNOWLEDGE_OF_PEPPERS: number = lockOf("peppers");
export const KNOWLEDGE_OF_SEALED_PARTS: number = lockOf("sealed parts");

/** Why what is sealed now could not be used by every node: they are named. Undefined where it could. */
export async function whoCannotOpen(
  on: Queryable,
  keyEncryptionKey: string | undefined,
): Promise<string | undefined> {
  if (keyEncryptionKey === undefined) return undefined;
  const nodes = await nodesWithout(on, knowledgeOfKey(keyEncryptionKey));
  return nodes.length === 0
    ? undefined
    : `Nodes run that do not know this KEY_ENCRYPTION_KEY and could not use it: ${nodes.join(", ")}.`;
}

/** Tells by this session, as long as it lives. */
export async function tellKnowledge(session: Queryable, knowledge: readonly number[]): Promise<void> {
  await session.query({ ...TELL, values: [KNOWLEDGE_LOCKS, knowledge] });
}

/** The names of the nodes present that do not say that they know it. */
export async function nodesWithout(on: Queryable, knowledge: number): Promise<string[]> {
  const { rows } = await on.query<{ owner: string }>({
    ...FIND_WITHOUT,
    values: [KNOWLEDGE_LOCKS, knowledge],
  });
  return rows.map(({ owner }) => owner);
}
