import { createHash } from "node:crypto";
import { parseArgs } from "node:util";
import { BUCKET_COUNT } from "../accept/bucket.ts";
import { openEachPayloadKey, readStoredPayloadKeys } from "../accept/payload-keys.ts";
import { type ReplayReport, replay } from "../apply/replay.ts";
import { recordAudit } from "../auth/audit.ts";
import { createSealer } from "../auth/seal.ts";
import { openForCommand } from "./open-for-command.ts";

const HELP = `bellhop replay [--swap] [--json]

Rebuilds current records, versions and the stay-night ledger from the log into a schema of its own, up to where the service stands now, and
compares them with the live ones by digest. Traffic goes on meanwhile.

  --swap   put the rebuilt state in the place of the live one (the former is kept in a schema of its own);
           cursors that clients hold stay good
  --json   one JSON object on standard output

Exit code: 0 equal, 1 different (also after a swap, which mends it).
`;

function describe(report: ReplayReport): string {
  const { live, rebuilt } = report;
  const line = (name: string, before: string | number, after: string | number) =>
    `  ${name.padEnd(18)}${String(before).padEnd(26)}${String(after).padEnd(26)}${before === after ? "equal" : "DIFFERENT"}`;
  // The digests are long sums: what is shown is a hash of them whole, so that it differs wherever they do.
  const short = (digest: string) => createHash("sha256").update(digest).digest("hex").slice(0, 16);
  return [
    `Replayed ${report.parts} parts of the log.`,
    ...(report.derivedFrom === null
      ? []
      : [
          `What was received before ${report.derivedFrom} was taken as it stands, and the ledger with it: retention has taken`,
          "out of the log what they were made of.",
        ]),
    ``,
    `  ${"".padEnd(18)}${"live".padEnd(26)}rebuilt`,
    line("current records", live.currentRecords, rebuilt.currentRecords),
    line("  digest", short(live.currentHash), short(rebuilt.currentHash)),
    line("versions", live.versions, rebuilt.versions),
    line("  digest", short(live.versionsHash), short(rebuilt.versionsHash)),
    line("ledger, nights", live.nights, rebuilt.nights),
    line("  digest", short(live.nightsHash), short(rebuilt.nightsHash)),
    line("ledger, blocks", live.blocks, rebuilt.blocks),
    line("  digest", short(live.blocksHash), short(rebuilt.blocksHash)),
    ``,
    report.equal ? "The live state is what the log says." : "The live state is NOT what the log says.",
    ...(report.formerSchema === null
      ? []
      : [
          `Swapped; records corrected: ${report.corrected}. The former state is in schema ${report.formerSchema}:`,
          `drop it when it is of no more use (drop schema ${report.formerSchema} cascade).`,
        ]),
    ...report.unboundViews.map(
      (view) => `The view ${view} still reads it: its owner has to create it again.`,
    ),
    ``,
  ].join("\n");
}

/** `bellhop replay`. */
export async function replayCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { swap: { type: "boolean" }, json: { type: "boolean" }, help: { type: "boolean" } },
  });
  if (values.help === true) {
    process.stdout.write(HELP);
    return 0;
  }
  return openForCommand(environment, async ({ config, database, log, who }) => {
    const sealer = createSealer(config.keyEncryptionKey, config.keyEncryptionKeysPrevious);
    openEachPayloadKey(await readStoredPayloadKeys(database.pool), sealer, (keyId) =>
      log.warn({ keyId }, "a retired payload key does not open: what is sealed under it cannot be replayed"),
    );
    const showsProgress = values.json !== true && process.stderr.isTTY === true;
    const report = await replay({
      clientConfig: database.clientConfig,
      pool: database.pool,
      swap: values.swap === true,
      progress(bucketsDone, parts) {
        if (showsProgress) process.stderr.write(`\r${bucketsDone}/${BUCKET_COUNT} buckets, ${parts} parts`);
      },
    });
    if (showsProgress) process.stderr.write("\n");
    const { equal, swapped, corrected } = report;
    await recordAudit(database.pool, { who, what: "replay", detail: { equal, swapped, corrected } });
    process.stdout.write(values.json === true ? `${JSON.stringify(report)}\n` : describe(report));
    return equal ? 0 : 1;
  });
}
