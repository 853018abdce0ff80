/**
 * `npm run check -- audit [--required]`: queries the package registry for known vulnerabilities of the packages in all
 * lock files. Exit code 1 for one of high or critical severity. If the registry does not support the query, the check
 * passes with a notice, or fails with `--required`.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { readOptions } from "./read-options.ts";

const USAGE = `npm run check -- audit [--required]

Known vulnerabilities of the packages in the lock files, as the package registry knows them. Exit code 1 for one of high or
critical severity; with --required also when the registry cannot be asked.`;

/** The output of `npm audit --json` after a complete response. */
interface AuditReport {
  readonly vulnerabilities: Readonly<Record<string, { readonly severity: string; readonly range: string }>>;
  readonly metadata: { readonly dependencies: { readonly total: number } };
}

const REFUSED = ["high", "critical"];
const FETCH_MS_MAX = 20_000;

/** The folders of the lock files. */
const FOLDERS = ["", "packages/console/", "packages/docs/"];

const { required } = readOptions(USAGE, { required: { type: "boolean", default: false } });
for (const folder of FOLDERS) audit(folder);

function audit(folder: string): void {
  const of = folder === "" ? "" : ` of ${folder}`;
  const asked = spawnSync(
    "npm",
    ["audit", "--json", "--package-lock-only", "--fetch-retries=0", `--fetch-timeout=${FETCH_MS_MAX}`],
    {
      cwd: fileURLToPath(new URL(`../${folder}`, import.meta.url)),
      encoding: "utf8",
      timeout: 3 * FETCH_MS_MAX,
    },
  );
  const report = readReport(asked.stdout);
  if (report === undefined) {
    console.log(`The registry cannot be asked (${reasonOf(asked.stdout)}): NO dependency${of} was checked.`);
    if (required) process.exitCode = 1;
    return;
  }
  const found = Object.entries(report.vulnerabilities);
  const refused = found.filter(([, { severity }]) => REFUSED.includes(severity));
  for (const [name, { severity, range }] of found) console.log(`${severity}: ${name} ${range}`);
  const { total } = report.metadata.dependencies;
  console.log(
    `${total} packages${of}, ${found.length} with findings, ${refused.length} of them high or critical.`,
  );
  if (refused.length > 0) process.exitCode = 1;
}

function parse(text: string | null): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
}

/** Undefined unless the report is complete: errors of the registry are JSON, too. */
function readReport(text: string | null): AuditReport | undefined {
  const report = parse(text) as Partial<AuditReport> | undefined;
  const isWhole =
    typeof report?.vulnerabilities === "object" && typeof report.metadata?.dependencies?.total === "number";
  return isWhole ? (report as AuditReport) : undefined;
}

function reasonOf(text: string | null): string {
  const { statusCode, error } = (parse(text) ?? {}) as { statusCode?: number; error?: { code?: string } };
  return statusCode === undefined ? (error?.code ?? "no answer") : `HTTP ${statusCode}`;
}
