import { parseArgs } from "node:util";
import { BUCKET_COUNT } from "../accept/bucket.ts";
import { recordAudit } from "../auth/audit.ts";
import { type DistributionReport, distributeByBucket } from "../db/distribute.ts";
import { type CommandContext, openForCommand } from "./open-for-command.ts";

const SHARDS = 32;

const HELP = `bellhop citus distribute [--shards N] [--dry-run] [--json]

Distributes the service's tables by bucket over the workers of Citus, so that one database may be many machines. The
DATABASE_URL is that of the coordinator, with the extension and the workers added to it (docs/scale.md). What is in the
tables goes along; it is one transaction, and run again it does what is left to do. Stop the service first.

  --shards N   into how many pieces the ${BUCKET_COUNT} buckets are put, 1 to 64 (${SHARDS}); a piece is what Citus moves between workers
  --dry-run    say what would be done, and do nothing
  --json       one JSON object on standard output
`;

function sizeOf(bytes: number): string {
  return bytes < 1_048_576 ? `${Math.ceil(bytes / 1024)} kB` : `${Math.ceil(bytes / 1_048_576)} MB`;
}

function describe({ workers, shards, steps, distributed }: DistributionReport): string {
  const isDone = steps.every(({ done }) => done);
  const lines = steps.map(({ table, done, bytes }) =>
    done
      ? `  ${table.padEnd(36)} is distributed already`
      : `  ${table.padEnd(36)} ${distributed ? "distributed" : "would be distributed"} by bucket, ${sizeOf(bytes)} copied`,
  );
  return [
    `Workers: ${workers.join(", ")}.`,
    ...lines,
    isDone
      ? "Nothing to do."
      : `${distributed ? "Done" : "Nothing was changed"}; ${shards} shards a table${distributed ? ". Start the service." : "."}`,
    "",
  ].join("\n");
}

function shardsOf(text: string | undefined): number | undefined {
  if (text === undefined) return SHARDS;
  const shards = Number(text);
  return Number.isInteger(shards) && shards >= 1 && shards <= BUCKET_COUNT ? shards : undefined;
}

/** `bellhop citus distribute`. */
export async function citusCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      shards: { type: "string" },
      "dry-run": { type: "boolean" },
      json: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) {
    process.stdout.write(HELP);
    return 0;
  }
  if (positionals.length !== 1 || positionals[0] !== "distribute") {
    process.stderr.write(HELP);
    return 2;
  }
  const shards = shardsOf(values.shards);
  if (shards === undefined) {
    process.stderr.write(
      `bellhop citus distribute: --shards takes a whole number from 1 to ${BUCKET_COUNT}.\n`,
    );
    return 2;
  }
  const distribute = async ({ database, who }: CommandContext): Promise<number> => {
    const report = await distributeByBucket(database.pool, { shards, dryRun: values["dry-run"] === true });
    if (report.distributed)
      await recordAudit(database.pool, {
        who,
        what: "citus distribute",
        detail: { shards, workers: report.workers },
      });
    process.stdout.write(values.json === true ? `${JSON.stringify(report)}\n` : describe(report));
    return 0;
  };
  // Empty tables are distributed at once, so it may come before the first start.
  return openForCommand(environment, distribute, { first: true });
}
