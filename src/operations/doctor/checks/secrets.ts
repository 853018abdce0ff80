import { countText } from "../../../cli/amounts.ts";
import type { Config } from "../../../config.ts";
import { listPeppers, type PepperSummary } from "../../../identity/pepper-admin.ts";
import { createSealer } from "../../../identity/seal.ts";
import { listPayloadKeys, type PayloadKeySummary } from "../../../ingest/log/payload-keys.ts";
import { type Check, type Finding, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

const DAY_MS = 86_400_000;
/** A running node looks every ten seconds: what is later than this is not done by itself. */
const LATE_DAYS = 3;

function pepperFinding(peppers: readonly PepperSummary[]): Finding {
  const id = "secrets.pepper";
  const former = peppers.find(({ isCurrent }) => !isCurrent);
  if (former === undefined) return fine(id, "Clients' secrets are digested with one pepper.");
  return trouble("warn", id, {
    says: `Two peppers are live; ${countText(former.secrets, "secret hangs", "secrets hang")} on the former one.`,
    means: "A rotation is not over: whoever has the former pepper has it for those secrets.",
    advice:
      former.secrets === 0
        ? "bellhop pepper retire."
        : "Wait until they were used, or give their clients new ones (bellhop pepper status --json names them); then bellhop pepper retire.",
  });
}

function payloadFinding(
  { encryptPayloads, payloadKeyRotationDays: days }: Config,
  keys: readonly PayloadKeySummary[],
): Finding {
  const id = "secrets.payloads";
  const current = keys.find(({ retiredAt }) => retiredAt === null);
  if (!encryptPayloads && current === undefined) return fine(id, "Batches are stored readable.");
  if (!encryptPayloads)
    return trouble("warn", id, {
      says: "There is a payload key, and ENCRYPT_PAYLOADS is off here.",
      means: "What a node with these settings accepts is stored readable, beside what was sealed before.",
      advice: "Set ENCRYPT_PAYLOADS=yes on every node, or leave it off on purpose.",
    });
  if (current === undefined)
    return trouble("warn", id, {
      says: "ENCRYPT_PAYLOADS is on and there is no payload key yet.",
      means: "Batches are stored readable until there is one.",
      advice:
        "Start the service; it waits until every node that runs knows KEY_ENCRYPTION_KEY, and names in its log those that do not.",
    });
  const age = Math.floor((Date.now() - current.createdAt.getTime()) / DAY_MS);
  const says = `Batches are sealed under a payload key of ${countText(age, "day")}`;
  if (days === 0 || age <= days + LATE_DAYS) return fine(id, `${says}.`);
  return trouble("warn", id, {
    says: `${says}, due after ${days}.`,
    means: "No node that runs replaces it.",
    advice: "bellhop payload-key rotate, and look into the log of the service.",
  });
}

/** What clients' secrets are digested with, and what batches are sealed with. */
export const secrets: Check<DatabaseSubject> = {
  name: "secrets",
  async run({ config, database: { pool } }) {
    const sealer = createSealer(config.keyEncryptionKey, config.keyEncryptionKeysPrevious);
    return [
      payloadFinding(config, await listPayloadKeys(pool)),
      pepperFinding(await listPeppers({ internals: { pool, sealer } })),
    ];
  },
};
