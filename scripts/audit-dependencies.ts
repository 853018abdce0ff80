/**
 * `npm run check:audit [-- --required]`: asks the package registry for known vulnerabilities of every package in the lock
 * files: the service's, the console's and the documentation's. Exit code 1 for one of high or critical severity. Not every registry answers that
 * question (a mirror may not, and without a network none does): then it says that nothing was checked, which is no failure
 * unless `--required` makes it one.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { readOptions } from "./read-options.ts";

const USAGE = `npm run check:audit [-- --required]

Known vulnerabilities of the packages in the lock files, as the package registry knows them. Exit code 1 for one of high or
critical severity; with --required also when the registry cannot be asked.`;

/** What `npm audit --json` prints where the registry answered. */
interface AuditReport {
  readonly vulnerabilities: Readonly<Record<string, { readonly severity: string; readonly range: string }>>;
  readonly metadata: { readonly dependencies: { readonly total: number } };
}

const REFUSED = ["high", "critical"];
const FETCH_MS_MAX = 20_000;

/** Where the lock files are, from the root of the checkout. */
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

/** Undefined for anything but a whole report: an error of the registry is JSON too, and must not pass for a clean one. */
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
