import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { readOptions } from "../../scripts/read-options.ts";
import { NotHere } from "../faults/campaign-command.ts";
import { ALERT_CASES, type AlertCase } from "./alert-cases.ts";

const USAGE = `npm run campaign -- alerts

Has Prometheus evaluate the alert rules on series with a fault of each rule: quiet before it, firing during it, over after it.
Needs promtool: apt-get install prometheus.`;
const RULES = fileURLToPath(new URL("../../deploy/prometheus/alerts.yaml", import.meta.url));

/** Answers whether every alert fires by its fault and clears. */
export async function alertsCampaign(args: string[]): Promise<boolean> {
  readOptions(USAGE, {}, args);
  if (spawnSync("promtool", ["--version"]).error !== undefined)
    throw new NotHere("it takes promtool: apt-get install prometheus.");
  const folder = await mkdtemp(join(tmpdir(), "bellhop-alerts-"));
  try {
    const rules = spawnSync("promtool", ["check", "rules", RULES], { encoding: "utf8" });
    console.log(`${rules.stdout}${rules.stderr}`.trim());
    const failed: string[] = [];
    for (const [alert, one] of Object.entries(ALERT_CASES)) {
      const file = join(folder, `${alert}.yaml`);
      await writeFile(file, stringify(testOf(alert, one)));
      const { status, stdout, stderr } = spawnSync("promtool", ["test", "rules", file], { encoding: "utf8" });
      const { quietAt, firesAt, clearsAt } = one;
      if (status === 0)
        console.log(`ok    ${alert}: quiet at ${quietAt} min, fires at ${firesAt}, over at ${clearsAt}`);
      else console.log(`FAIL  ${alert}: ${stdout}${stderr}`);
      if (status !== 0) failed.push(alert);
    }
    const all = Object.keys(ALERT_CASES).length;
    console.log(`${all - failed.length} of ${all} alerts fire and clear`);
    return rules.status === 0 && failed.length === 0;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function testOf(alert: string, { series, quietAt, firesAt, clearsAt }: AlertCase) {
  const firing = `count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0)`;
  const at = (minutes: number, value: number) => ({
    expr: firing,
    eval_time: `${minutes}m`,
    exp_samples: [{ labels: "{}", value }],
  });
  return {
    rule_files: [RULES],
    evaluation_interval: "1m",
    tests: [
      {
        interval: "1m",
        external_labels: { bellhop_url: "https://hotels.example" },
        input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
        promql_expr_test: [at(quietAt, 0), at(firesAt, 1), at(clearsAt, 0)],
      },
    ],
  };
}
