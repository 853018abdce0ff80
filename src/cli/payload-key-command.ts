import { listPayloadKeys, type PayloadKeySummary, rotatePayloadKey } from "../accept/payload-keys.ts";
import { AuthInputError } from "../auth/admin.ts";
import { recordAudit } from "../auth/audit.ts";
import { whoCannotOpen } from "../auth/node-knowledge.ts";
import { momentText, tableLines } from "./text-output.ts";
import { readArgs, runVerb, shellContext, type Verb, type VerbContext } from "./verb.ts";

const JSON_OPTION = { json: { type: "boolean", default: false } } as const;

const list: Verb = {
  usage: "bellhop payload-key list [--json]",
  async run(args, { out, withAdmin }) {
    const { values } = readArgs({ args: [...args], options: JSON_OPTION });
    return withAdmin(async ({ internals }) => {
      const keys = await listPayloadKeys(internals.pool);
      if (values.json) out(JSON.stringify({ keys: keys.map(keyJson) }));
      else if (keys.length === 0) out("There is no payload key: batches are stored readable.");
      else for (const line of tableLines(["KEY", "STATE", "MADE", "RETIRED"], keys.map(keyRow))) out(line);
      return 0;
    });
  },
};

const rotate: Verb = {
  usage: "bellhop payload-key rotate [--json]",
  async run(args, { out, withAdmin }) {
    const { values } = readArgs({ args: [...args], options: JSON_OPTION });
    return withAdmin(async ({ internals, who }) => {
      const { pool, sealer, config } = internals;
      if (config.keyEncryptionKey === undefined)
        throw new AuthInputError("Payload keys are kept under KEY_ENCRYPTION_KEY, which is not set.");
      const refusal = await whoCannotOpen(pool, config.keyEncryptionKey);
      if (refusal !== undefined) throw new AuthInputError(refusal);
      const keyId = await rotatePayloadKey(pool, sealer, 0);
      if (keyId === undefined)
        throw new AuthInputError(
          "No payload key is current: with ENCRYPT_PAYLOADS the service makes the first.",
        );
      await recordAudit(pool, { who, what: "rotate-payload-key", detail: { keyId } });
      out(
        values.json
          ? JSON.stringify({ key_id: keyId })
          : `Batches are sealed under ${keyId} within seconds. What is in the log keeps its key.`,
      );
      return 0;
    });
  },
};

/** `bellhop payload-key list|rotate`: the data keys that stored batches are sealed with. Answers the exit code. */
export function payloadKeyCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  context: VerbContext = shellContext(environment),
): Promise<number> {
  return runVerb("payload-key", { list, rotate }, args, context);
}

function keyJson({ keyId, createdAt, retiredAt }: PayloadKeySummary): Record<string, unknown> {
  return { key_id: keyId, created_at: createdAt, retired_at: retiredAt };
}

function keyRow({ keyId, createdAt, retiredAt, isReadable }: PayloadKeySummary): string[] {
  const state = retiredAt === null ? "current" : "opens only";
  return [keyId, isReadable ? `${state}, readable` : state, momentText(createdAt), momentText(retiredAt)];
}
