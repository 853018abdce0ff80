import { createHash } from "node:crypto";
import { flag, type Noun, verb } from "../../cli/command.ts";
import { recordAudit } from "../../identity/audit.ts";
import { decryptEachPayloadKey, readStoredPayloadKeys } from "../../ingest/log/payload-keys.ts";
import { type ReplayReport, replay } from "../replay.ts";

function comparison({ live, rebuilt }: ReplayReport): string[] {
  const line = (name: string, before: string | number, after: string | number) =>
    `  ${name.padEnd(18)}${String(before).padEnd(26)}${String(after).padEnd(26)}${before === after ? "equal" : "DIFFERENT"}`;
  // The digests are long sums: a hash of each is enough to compare by eye.
  const short = (digest: string) => createHash("sha256").update(digest).digest("hex").slice(0, 16);
  return [
    `  ${"".padEnd(18)}${"live".padEnd(26)}rebuilt`,
    line("current records", live.currentRecords, rebuilt.currentRecords),
    line("  digest", short(live.currentHash), short(rebuilt.currentHash)),
    line("versions", live.versions, rebuilt.versions),
    line("  digest", short(live.versionsHash), short(rebuilt.versionsHash)),
    line("ledger, nights", live.nights, rebuilt.nights),
    line("  digest", short(live.nightsHash), short(rebuilt.nightsHash)),
    line("ledger, blocks", live.blocks, rebuilt.blocks),
    line("  digest", short(live.blocksHash), short(rebuilt.blocksHash)),
  ];
}

function reportLines(report: ReplayReport): string[] {
  const { parts, derivedFrom, equal, formerSchema, corrected, unboundViews } = report;
  const derived = `State received before ${derivedFrom} was copied with its ledger, because retention has deleted the payloads.`;
  const swapped = [
    `Swapped; records corrected: ${corrected}. The previous state is in schema ${formerSchema}.`,
    `Drop it when it is no longer needed: drop schema ${formerSchema} cascade`,
  ];
  return [
    `Replayed ${parts} parts of the log.`,
    ...(derivedFrom === null ? [] : [derived]),
    "",
    ...comparison(report),
    "",
    equal ? "The live state matches the log." : "The live state does NOT match the log.",
    ...(formerSchema === null ? [] : swapped),
    ...unboundViews.map((view) => `View ${view} still reads the previous state; its owner must recreate it.`),
  ];
}

const own = verb({
  summary: "rebuild the state from the log and compare",
  details:
    "Rebuilds current records, versions and the stay-night ledger into a separate schema, up to the present, and compares " +
    "them with the live ones by digest. The service may run meanwhile.",
  options: { swap: flag("replace the live state with the rebuilt one; cursors stay valid") },
  examples: ["replay", "replay --swap"],
  json: '{"parts", "live", "rebuilt", "equal", "swapped", "corrected", "formerSchema", ...}',
  exitCodes: "0 equal, 1 different (even if a swap corrected it).",
  async database({ swap }, { database: { clientConfig }, pool, log, cipher, who }, { output, progress }) {
    decryptEachPayloadKey(await readStoredPayloadKeys(pool), cipher, (keyId) =>
      log.warn(
        { keyId },
        "a retired payload key cannot be decrypted: payloads encrypted with it cannot be replayed",
      ),
    );
    const report = await replay({ clientConfig, pool, swap, onStep: progress.show });
    const { equal, swapped, corrected } = report;
    await recordAudit(pool, { who, what: "replay", detail: { equal, swapped, corrected } });
    output.result(report, reportLines(report));
    return equal ? 0 : 1;
  },
});

export const command: Noun = { own };
