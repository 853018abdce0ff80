import type pg from "pg";
import type { Config } from "../config.ts";
import { recordAudit } from "../identity/audit.ts";
import type { AuthInternals } from "../identity/authenticator.ts";
import {
  knowledgeOfAddresses,
  knowledgeOfKey,
  nodesWithout,
  readSecretState,
  reencrypt,
  rotateKeyWhenDue,
} from "../identity/key-admin.ts";
import { makePayloadKey, readPayloadKey, rotatePayloadKey } from "../ingest/log/payload-keys.ts";
import { withTransaction } from "../platform/db/transaction.ts";
import { Repeat } from "../platform/runtime/repeat.ts";
import type { Logger } from "../platform/telemetry/log.ts";

const LOOK_MS = 10_000;
const WHO = "service";

/** The knowledge announced by this node's session. */
export function knowledgeOf(config: Config): number[] {
  const { keyEncryptionKey, keyEncryptionKeysPrevious } = config;
  const keys = [...(keyEncryptionKey === undefined ? [] : [keyEncryptionKey]), ...keyEncryptionKeysPrevious];
  return [...keys.map(knowledgeOfKey), knowledgeOfAddresses(config)];
}

export interface KeyKeeping {
  readonly pool: pg.Pool;
  readonly config: Config;
  readonly log: Logger;
  readonly internals: AuthInternals;
}

/**
 * Re-encrypts values under the current KEY_ENCRYPTION_KEY and replaces old signing and payload keys, on every node. Waits while a running
 * node could not decrypt the result.
 */
export class KeyKeeper {
  readonly #parts: KeyKeeping;
  #isReencrypted = false;
  /** Names of the nodes last logged as waited for. */
  #waitedFor = "";
  /** Nodes were missing at the last check. Checks once more before logging, as a node may only have lost its session. */
  #isWaiting = false;

  private constructor(parts: KeyKeeping) {
    this.#parts = parts;
  }

  /** Runs once before anything is served, then every ten seconds. */
  static async start(parts: KeyKeeping): Promise<Repeat> {
    const keeper = new KeyKeeper(parts);
    await keeper.#look();
    const failed = (error: unknown) => parts.log.warn({ err: error }, "key maintenance failed");
    return new Repeat(() => keeper.#look(), LOOK_MS, failed);
  }

  async #look(): Promise<void> {
    const { config, log, internals } = this.#parts;
    if (!(await this.#canAllOpen())) return;
    // Before re-encryption, which would hide that a signing key was stored unencrypted and must be replaced.
    const rotated = await rotateKeyWhenDue({ internals, who: WHO }, config.signingKeyRotationDays);
    if (rotated !== undefined) {
      const { kid, activateAt, because } = rotated;
      const what = because === "old" ? "was old" : "was stored unencrypted";
      log.info({ kid, activateAt }, `the signing key ${what}: a new one is announced`);
    }
    if (!this.#isReencrypted) await this.#reencrypt();
    if (config.encryptPayloads) await this.#keepPayloadKey();
  }

  /** Whether every running node can decrypt what this one encrypts. */
  async #canAllOpen(): Promise<boolean> {
    const { pool, config, internals, log } = this.#parts;
    const { keyEncryptionKey } = config;
    if (keyEncryptionKey === undefined) return true;
    const nodes = await nodesWithout(pool, knowledgeOfKey(keyEncryptionKey));
    const wasWaiting = this.#isWaiting;
    this.#isWaiting = nodes.length > 0;
    if (nodes.length === 0) return !wasWaiting;
    const { behind } = await readSecretState(pool, internals.cipher);
    if (this.#waitedFor !== nodes.join(" ")) {
      this.#waitedFor = nodes.join(" ");
      const detail = { nodes, values: behind.length };
      log.warn(detail, "running nodes lack this KEY_ENCRYPTION_KEY: encryption under it waits for them");
    }
    return false;
  }

  async #reencrypt(): Promise<void> {
    const { pool, config, internals, log } = this.#parts;
    if (config.keyEncryptionKey !== undefined) {
      const { reencrypted, unopened } = await reencrypt(pool, internals.cipher, WHO);
      if (reencrypted > 0) log.info({ reencrypted }, "re-encrypted with KEY_ENCRYPTION_KEY");
      if (unopened.length > 0)
        log.warn(
          { unopened },
          "stored values can be decrypted with neither KEY_ENCRYPTION_KEY nor a previous key",
        );
    }
    this.#isReencrypted = true;
  }

  async #keepPayloadKey(): Promise<void> {
    const { pool, config, internals, log } = this.#parts;
    const { cipher } = internals;
    const isThere = (await readPayloadKey(pool, cipher)) !== undefined;
    const days = config.payloadKeyRotationDays;
    const keyId = isThere
      ? days > 0 && (await rotatePayloadKey(pool, cipher, days))
      : await withTransaction(pool, (client) => makePayloadKey(client, cipher));
    if (!keyId) return;
    await recordAudit(pool, { who: WHO, what: "rotate-payload-key", detail: { keyId } });
    log.info({ keyId }, "batches are encrypted under a new payload key");
  }
}
