import { count, flag, type Noun, required, text, verb, withDefault } from "../../cli/command.ts";
import { recordAudit } from "../../identity/audit.ts";
import { BUCKET_COUNT } from "../../ingest/log/part-name.ts";
import { createRestorePoint } from "../../platform/db/dialect.ts";
import { type DistributionReport, distributeByBucket } from "../../platform/db/distribute.ts";
import { sizeText } from "../../platform/runtime/amounts.ts";

function reportLines({ workers, shards, steps, distributed }: DistributionReport): string[] {
  const lines = steps.map(({ table, done, bytes }) => {
    const what = `${distributed ? "distributed" : "would be distributed"} by bucket, ${sizeText(bytes)} copied`;
    return `  ${table.padEnd(36)} ${done ? "already distributed" : what}`;
  });
  const end = distributed
    ? `Done; ${shards} shards per table. Start the service.`
    : `Nothing was changed; ${shards} shards per table.`;
  return [
    `Workers: ${workers.join(", ")}.`,
    ...lines,
    steps.every(({ done }) => done) ? "Nothing to do." : end,
  ];
}

const distribute = verb({
  summary: "distribute the tables by bucket over the workers of Citus",
  details:
    "DATABASE_URL is the coordinator, with the extension and the workers added (docs/scale.md). Existing rows are moved to the workers in one " +
    "transaction. Run it again after an upgrade that adds tables. Stop the service first.",
  options: {
    shards: withDefault(
      count(`shards that the ${BUCKET_COUNT} buckets are divided into`, { least: 1, most: BUCKET_COUNT }),
      32,
    ),
    dryRun: flag("print what would be done, and change nothing"),
  },
  examples: ["citus distribute --dry-run", "citus distribute --shards 64"],
  json: '{"workers", "shards", "steps": [{"table", "done", "bytes"}], "distributed"}',
  run: ({ shards, dryRun }, { output, session }) =>
    // Works on empty tables, so it may run before the first start.
    session.connection(
      "distribute",
      async (client, { pool, who, log }) => {
        const report = await distributeByBucket(client, { shards, dryRun, log });
        const detail = { shards, workers: report.workers };
        if (report.distributed) await recordAudit(pool, { who, what: "citus distribute", detail });
        output.result(report, reportLines(report));
      },
      { first: true },
    ),
});

const restorePoint = verb({
  summary: "mark an instant in the write-ahead log of coordinator and workers",
  details:
    "To recover all servers to one instant from base backups and archived write-ahead log: recovery_target_name is NAME on each " +
    "(docs/backup.md). Blocks writers for some milliseconds. Needs a superuser.",
  args: { name: required(text("NAME", "a new name for the restore point")) },
  examples: ["citus restore-point nightly-2026-06-01"],
  json: '{"name"}',
  async database({ name }, { database, who, pool }, { output }) {
    await createRestorePoint(pool, database.clientConfig, name);
    await recordAudit(pool, { who, what: "restore-point", detail: { name } });
    output.result({ name }, `Restore point ${name} created.`);
  },
});

export const command: Noun = { verbs: { distribute, "restore-point": restorePoint } };
