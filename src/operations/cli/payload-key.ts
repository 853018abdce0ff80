import type { Noun } from "../../cli/command.ts";
import { moment, table } from "../../cli/output.ts";
import { AuthInputError } from "../../identity/admin.ts";
import { recordAudit } from "../../identity/audit.ts";
import { adminVerb } from "../../identity/cli/administer.ts";
import { missingKeyMessage } from "../../identity/key-admin.ts";
import { listPayloadKeys, rotatePayloadKey } from "../../ingest/log/payload-keys.ts";

const list = adminVerb({
  summary: "list payload keys",
  examples: ["payload-key list"],
  json: '{"keys": [{"key_id", "created_at", "retired_at"}]}',
  async admin(_, { internals: { pool } }, { output }) {
    const keys = await listPayloadKeys(pool);
    const data = keys.map(({ keyId, createdAt, retiredAt }) => ({
      key_id: keyId,
      created_at: createdAt,
      retired_at: retiredAt,
    }));
    const rows = keys.map(({ keyId, createdAt, retiredAt, isReadable }) => [
      keyId,
      `${retiredAt === null ? "current" : "decrypts only"}${isReadable ? ", stored unencrypted" : ""}`,
      moment(createdAt),
      moment(retiredAt),
    ]);
    const empty = "No payload keys: payloads are stored unencrypted.";
    output.result({ keys: data }, table(["KEY", "STATE", "CREATED", "RETIRED"], rows, empty));
  },
});

const rotate = adminVerb({
  summary: "encrypt new payloads under a new key",
  examples: ["payload-key rotate"],
  json: '{"key_id"}',
  async admin(_, { internals: { pool, cipher, config }, who }, { output }) {
    if (config.keyEncryptionKey === undefined)
      throw new AuthInputError("KEY_ENCRYPTION_KEY is not set; payload keys are encrypted with it.");
    const refusal = await missingKeyMessage(pool, config.keyEncryptionKey);
    if (refusal !== undefined) throw new AuthInputError(refusal);
    const keyId = await rotatePayloadKey(pool, cipher, 0);
    if (keyId === undefined)
      throw new AuthInputError(
        "No payload key is current. The service creates the first one when ENCRYPT_PAYLOADS is set.",
      );
    await recordAudit(pool, { who, what: "rotate-payload-key", detail: { keyId } });
    output.result(
      { key_id: keyId },
      `New payloads are encrypted under ${keyId} within seconds. Stored payloads keep their key.`,
    );
  },
});

export const command: Noun = { verbs: { list, rotate } };
