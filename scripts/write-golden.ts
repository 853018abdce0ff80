/**
 * `npm run generate -- golden`: records the outside behaviour that partners and operators rely on (error registry, metric names) in
 * test/golden. With `--check` it compares instead and exits 1 on any difference: list each one in CHANGELOG.md before you
 * write the files again. The numbers of facts are recorded too, and may only become more: versions are stored under them.
 * The OpenAPI document and the CLI's help are recorded by their own scripts.
 */
import { readFile, writeFile } from "node:fs/promises";
import { STORED_FACTS } from "#contract/fact-columns.ts";
import { byResource, RESOURCES } from "#contract/resource.ts";
import { createSurveyMetrics } from "../src/operations/metrics/survey.ts";
import { ERRORS } from "../src/platform/errors/registry.ts";
import { createMetrics, createProcessMetrics } from "../src/platform/telemetry/metrics.ts";

/** A metric of prom-client, whose types lack the label names. */
interface RegisteredMetric {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
}

function listMetrics() {
  const registries = [
    createMetrics().registry,
    createProcessMetrics().registry,
    createSurveyMetrics().registry,
  ];
  const registered = registries.flatMap(
    (registry) => registry.getMetricsAsArray() as unknown as RegisteredMetric[],
  );
  return registered
    .map(({ name, help, labelNames = [] }) => ({ name, labels: [...labelNames], help }))
    .filter(({ name }) => name.startsWith("bellhop_"))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** The type, column and field of each fact, by its number. */
const facts = byResource((resource) =>
  Object.fromEntries(
    STORED_FACTS[resource].map(({ fact, name, type, isList, path = "" }) => [
      String(fact),
      `${type}${isList ? "[]" : ""} ${name} ${path}`.trimEnd(),
    ]),
  ),
);

const FACTS_FILE = new URL("../test/golden/facts.json", import.meta.url);

/** Facts that were recorded and are no longer what they were. */
async function changedFacts(): Promise<string[]> {
  const recorded = JSON.parse(await readFile(FACTS_FILE, "utf8").catch(() => "{}")) as Partial<typeof facts>;
  return RESOURCES.flatMap((resource) =>
    Object.entries(recorded[resource] ?? {})
      .filter(([fact, is]) => facts[resource][fact] !== is)
      .map(([fact, was]) => `${resource} ${fact}: ${was} became ${facts[resource][fact] ?? "nothing"}`),
  );
}

const changed = await changedFacts();
if (changed.length > 0) {
  console.error("Versions are stored with the numbers of facts, so none may become another or end:");
  console.error(changed.map((one) => `  ${one}`).join("\n"));
  process.exit(1);
}

const errors = Object.entries(ERRORS).map(([code, { status, text }]) => [code, { status, text }]);
const golden = { errors: Object.fromEntries(errors), facts, metrics: listMetrics() };
const isCheck = process.argv.includes("--check");
for (const [name, content] of Object.entries(golden)) {
  const file = new URL(`../test/golden/${name}.json`, import.meta.url);
  const text = `${JSON.stringify(content, null, 2)}\n`;
  if (!isCheck) await writeFile(file, text);
  else if ((await readFile(file, "utf8")) !== text) {
    console.error(`test/golden/${name}.json differs from what Bellhop exposes: see the head of this script.`);
    process.exitCode = 1;
  }
}
