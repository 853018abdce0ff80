import { duration, flag, type Noun, required, text } from "../../cli/command.ts";
import { itemTable, moment, snakeCase } from "../../cli/output.ts";
import { UsageError } from "../../platform/errors/operator-error.ts";
import { AuthInputError } from "../admin.ts";
import {
  listKeys,
  missingKeyMessage,
  reencrypt,
  revokeKey,
  rotateKey,
  rotateKeyWhenDue,
} from "../key-admin.ts";
import { adminVerb } from "./administer.ts";

const list = adminVerb({
  summary: "list signing keys and their states",
  examples: ["key list"],
  json: '{"keys": [{"kid", "state", "created_at", "activate_at", "remove_at", "private_part"}]}',
  async admin(_, admin, { output }) {
    const keys = await listKeys(admin);
    const columns = {
      KEY: "kid",
      STATE: "state",
      "SIGNS FROM": "activateAt",
      "REFUSED FROM": "removeAt",
      "PRIVATE KEY": "privatePart",
    } as const;
    output.result({ keys: keys.map(snakeCase) }, itemTable(columns, keys));
  },
});

const rotate = adminVerb({
  summary: "create a signing key that replaces the active one",
  options: {
    announce: duration("how long the new key is published before it signs"),
    leaked: flag("the active key leaked: replace it within seconds and refuse its tokens"),
  },
  examples: ["key rotate", "key rotate --announce 1h", "key rotate --leaked"],
  json: '{"kid", "activate_at", "retiring"}',
  check: ({ announce, leaked }) => {
    if (leaked && announce !== undefined)
      throw new UsageError(
        "--announce cannot be combined with --leaked, which replaces the key within seconds.",
      );
  },
  async admin({ announce, leaked }, admin, { output }) {
    const rotation = await rotateKey(admin, { leaked, announceSeconds: announce });
    output.result(snakeCase(rotation), [
      `Key ${rotation.kid} is published and signs from ${moment(rotation.activateAt)}.`,
      leaked
        ? "From then on tokens signed by any other key are refused."
        : "Tokens signed by the previous key stay valid until they expire.",
    ]);
  },
});

const revoke = adminVerb({
  summary: "revoke a leaked key: every token it signed is refused at once",
  args: { kid: required(text("KEY", "the key's id (bellhop key list)")) },
  examples: ["key revoke 2026-11-a"],
  json: '{"kid", "replaced_by"}',
  async admin({ kid }, admin, { output }) {
    const { replacedBy } = await revokeKey(admin, kid);
    output.result({ kid, replaced_by: replacedBy }, [
      "Every node refuses its tokens within a second.",
      ...(replacedBy === null ? [] : [`Key ${replacedBy} signs instead.`]),
    ]);
  },
});

const reseal = adminVerb({
  summary: "encrypt all stored secrets under the current KEY_ENCRYPTION_KEY",
  details:
    "Re-encrypts secrets stored under a previous KEY_ENCRYPTION_KEY, and encrypts those stored in plain text.",
  options: { force: flag("even if a node runs without this KEY_ENCRYPTION_KEY") },
  examples: ["key reseal"],
  json: '{"resealed", "unopened", "announced_kid"}',
  exitCodes: "0 all encrypted, 1 some could not be decrypted.",
  async admin({ force }, admin, { output }) {
    const { pool, cipher, config } = admin.internals;
    if (config.keyEncryptionKey === undefined) throw new AuthInputError("KEY_ENCRYPTION_KEY is not set.");
    const refusal = await missingKeyMessage(pool, config.keyEncryptionKey);
    if (refusal !== undefined && !force) throw new AuthInputError(refusal);
    // As at startup: replaces a signing key that was stored unencrypted.
    const rotated = await rotateKeyWhenDue(admin, 0);
    const { reencrypted, unopened } = await reencrypt(pool, cipher, admin.who);
    const lines = [`Encrypted under KEY_ENCRYPTION_KEY: ${reencrypted}.`];
    if (rotated !== undefined)
      lines.push(
        `The signing key was stored in plain text: ${rotated.kid} replaces it and signs from ${moment(rotated.activateAt)}.`,
      );
    output.result({ resealed: reencrypted, unopened, announced_kid: rotated?.kid ?? null }, lines);
    for (const name of unopened)
      output.failure(`${name} cannot be decrypted with the current or the previous key; it is unchanged.`);
    return unopened.length === 0 ? 0 : 1;
  },
});

export const command: Noun = { verbs: { list, rotate, revoke, reseal } };
