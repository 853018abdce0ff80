import type pg from "pg";
import { countText, spanText } from "../../../cli/amounts.ts";
import { BUCKET_COUNT } from "../../../ingest/log/bucket.ts";
import { lookForLag } from "../../../insight/console/apply-lag.ts";
import { countPresent, type Presence } from "../../../platform/db/presence.ts";
import { countUnownedBuckets } from "../../../platform/db/unowned-buckets.ts";
import { type Check, type Finding, fine, trouble } from "../finding.ts";
import type { DatabaseSubject } from "../subject.ts";

const LAG_SECONDS_MAX = 30;
const LONG_LAG_SECONDS = 300;

function nodeFindings(present: ReadonlyMap<Presence, number>): Finding[] {
  const id = "nodes.present";
  const count = (role: Presence) => present.get(role) ?? 0;
  const says = `${countText(count("accept"), "node accepts", "nodes accept")}, ${countText(count("read"), "reads", "read")}, ${countText(count("apply"), "thread applies", "threads apply")}`;
  const missing = (["accept", "apply", "read"] as const).filter((role) => count(role) === 0);
  if (missing.length === 0) return [fine(id, `${says}.`)];
  if (missing.length === 3)
    return [
      trouble("warn", id, {
        says: "No node is running on this database.",
        means: "Nothing is accepted, applied or answered.",
        advice: "Start the service (npm start), or see why its supervisor does not.",
      }),
    ];
  return [
    trouble("fail", id, {
      says: `${says}: nobody has the role ${missing.join(" or ")}.`,
      means: "What is accepted waits to be applied, or partners are answered 404 or 503.",
      advice: `Start a node with --role ${missing.join(",")}.`,
    }),
  ];
}

function bucketFinding(unowned: number, appliers: number): Finding {
  const id = "buckets.owned";
  if (unowned === 0) return fine(id, `All ${BUCKET_COUNT} buckets have an owner.`);
  const says = `${unowned} of ${BUCKET_COUNT} buckets have no owner`;
  if (appliers === 0) return fine(id, `${says}: no node applies.`);
  return trouble("warn", id, {
    says: `${says} although ${countText(appliers, "thread applies", "threads apply")}.`,
    means:
      "What is accepted for their properties waits. Just after a node came or went this is so for two seconds.",
    advice: "Look again in ten seconds; if it stays, see the logs of the nodes that apply.",
  });
}

async function lagFinding(pool: pg.Pool, appliers: number): Promise<Finding> {
  const id = "apply.lag";
  const lag = await (await lookForLag(pool)).read();
  if (lag.waiting === 0) return fine(id, "Everything that was accepted is applied.");
  const says = `${countText(lag.waiting, "part")} of batches ${lag.waiting === 1 ? "waits" : "wait"} to be applied, the oldest for ${spanText(lag.seconds)}`;
  if (lag.seconds <= LAG_SECONDS_MAX) return fine(id, `${says}.`);
  return trouble(lag.seconds > LONG_LAG_SECONDS && appliers > 0 ? "fail" : "warn", id, {
    says: `${says}.`,
    means: "What is read is older than what was sent; nothing is lost.",
    advice:
      appliers === 0
        ? "Start a node that applies."
        : "See bellhop_apply_failures_total and the log: if it grows, apply is stuck on what the log names; else more comes than is applied: add nodes that apply.",
  });
}

/** Who is there, who owns which buckets, and what waits. */
export const appliers: Check<DatabaseSubject> = {
  name: "appliers",
  async run({ database: { pool } }) {
    const client = await pool.connect();
    let present: ReadonlyMap<Presence, number>;
    try {
      present = await countPresent(client);
    } finally {
      client.release();
    }
    const applying = present.get("apply") ?? 0;
    const unowned = await countUnownedBuckets(pool);
    return [...nodeFindings(present), bucketFinding(unowned, applying), await lagFinding(pool, applying)];
  },
};
