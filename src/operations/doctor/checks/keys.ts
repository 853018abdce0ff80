import { countText } from "../../../cli/amounts.ts";
import type { Config } from "../../../config.ts";
import { type KeySummary, listKeys } from "../../../identity/key-admin.ts";
import { readSealedState, type SealedState } from "../../../identity/reseal.ts";
import { AuthSetupError, createSealer, type Sealer } from "../../../identity/seal.ts";
import { type Check, type Finding, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

const DAY_MS = 86_400_000;
/** Where nobody replaces it on schedule: what a copy that nobody noticed is worth ends with the key. */
const KEY_DAYS_MAX = 120;
/** A node looks once a day, and there is a day for the one that comes after it. */
const LATE_DAYS = 3;

function noActiveKey(isFirst: boolean): Finding {
  const id = "keys.active";
  return isFirst
    ? trouble("warn", id, {
        says: "There is no signing key yet.",
        means: "The first start makes one.",
        advice: "Start the service.",
      })
    : trouble("fail", id, {
        says: "No signing key is active.",
        means: "Nobody gets a token.",
        advice: "bellhop key rotate; if the database's clock was set back, mend that first.",
      });
}

function activeFinding(keys: readonly KeySummary[], rotationDays: number): Finding {
  const id = "keys.active";
  const active = keys.find(({ state }) => state === "active");
  if (active === undefined) return noActiveKey(keys.length === 0);
  const days = Math.floor((Date.now() - active.createdAt.getTime()) / DAY_MS);
  const count = (state: KeySummary["state"]) => keys.filter((key) => key.state === state).length;
  const says = `The signing key is ${countText(days, "day")} old; ${count("announced")} announced, ${count("retiring")} retiring`;
  if (days <= (rotationDays === 0 ? KEY_DAYS_MAX : rotationDays + LATE_DAYS)) return fine(id, `${says}.`);
  return trouble("warn", id, {
    says: `${says}${rotationDays === 0 ? "" : `, and due after ${rotationDays}`}.`,
    means: "Whoever has copied it since can sign tokens until it is replaced.",
    advice:
      "bellhop key rotate: no token is refused by it. A running service does it by itself: see SIGNING_KEY_ROTATION_DAYS and its log.",
  });
}

function opens(sealer: Sealer, bound: string, sealed: string): boolean {
  try {
    sealer.open(bound, sealed);
    return true;
  } catch (error) {
    if (!(error instanceof AuthSetupError)) throw error;
    return false;
  }
}

function sealFinding({ keyEncryptionKey }: Config, sealer: Sealer, { values, behind }: SealedState): Finding {
  const id = "keys.encryption";
  const shut = behind.filter(({ bound, sealed }) => !opens(sealer, bound, sealed));
  if (shut.length > 0)
    return trouble("fail", id, {
      says: `${shut.length} of ${countText(values, "secret")} in the database ${shut.length === 1 ? "does" : "do"} not open with KEY_ENCRYPTION_KEY (${shut[0]?.bound} the first).`,
      means:
        "The service does not start, or cannot use them: signing keys, peppers, webhook secrets, payloads.",
      advice:
        "Set KEY_ENCRYPTION_KEY to the key of this installation, or name the one before it in KEY_ENCRYPTION_KEY_PREVIOUS; both are kept apart from backups.",
    });
  if (keyEncryptionKey === undefined)
    return fine(
      id,
      `${countText(values, "secret lies", "secrets lie")} readable, as no KEY_ENCRYPTION_KEY is set.`,
    );
  if (behind.length === 0)
    return fine(id, `${countText(values, "secret lies", "secrets lie")} encrypted under KEY_ENCRYPTION_KEY.`);
  return trouble("warn", id, {
    says: `${behind.length} of ${countText(values, "secret")} in the database ${behind.length === 1 ? "lies" : "lie"} under a former key, or readable.`,
    means: "Whoever has that key, or reads a copy of the database, has them.",
    advice: "bellhop key reseal (each start of the service does it, too); rotate what may have been read.",
  });
}

/** The keys that sign tokens, and how secrets lie in the database. */
export const keys: Check<DatabaseSubject> = {
  name: "keys",
  async run({ config, database: { pool } }) {
    const sealer = createSealer(config.keyEncryptionKey, config.keyEncryptionKeysPrevious);
    return [
      activeFinding(await listKeys({ internals: { pool } }), config.signingKeyRotationDays),
      sealFinding(config, sealer, await readSealedState(pool, sealer)),
    ];
  },
};
