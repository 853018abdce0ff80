import { globSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";

export interface Page {
  /** Address without the leading slash: `docs/guides/quickstart`. */
  readonly path: string;
  /** Markdown file, from the root of the repository: `docs/guides/quickstart.md`. Empty for the API reference. */
  readonly file: string;
  readonly label: string;
}

/** Whom a page is written for: partners, revenue and data teams, or those who run the service. Each has a menu of its own. */
export type Audience = "integrate" | "analyse" | "operate";

export interface Section {
  readonly title: string;
  readonly audience: Audience;
  readonly pages: readonly Page[];
}

type Entry = readonly [file: string, label: string, path?: string];

export const START_PATH = "docs";
export const API_PATH = "docs/api";
/** The menus and the pages that they begin with. */
export const AUDIENCES: readonly {
  readonly audience: Audience;
  readonly label: string;
  readonly path: string;
}[] = [
  { audience: "integrate", label: "Integrate", path: START_PATH },
  { audience: "analyse", label: "Analyse", path: "docs/analyse" },
  { audience: "operate", label: "Operate", path: "docs/operate" },
];
const ROOT = new URL("../../", import.meta.url);

/** The navigation. `rest` adds the files that no entry names, under their own titles. */
const SECTIONS: readonly {
  readonly title: string;
  readonly audience: Audience;
  readonly entries: readonly Entry[];
  readonly rest?: string;
}[] = [
  {
    title: "Start here",
    audience: "integrate",
    entries: [
      ["docs/README.md", "Overview", START_PATH],
      ["docs/guides/quickstart.md", "Quickstart"],
      ["docs/faq.md", "Questions"],
      ["docs/environments.md", "Environments"],
      ["docs/glossary.md", "Glossary"],
    ],
  },
  {
    title: "Guides",
    audience: "integrate",
    entries: [
      ["docs/guides/inventory.md", "Inventory"],
      ["docs/guides/reservations.md", "Reservations"],
      ["docs/guides/groups.md", "Groups"],
      ["docs/guides/shares.md", "Shares"],
      ["docs/guides/cancellations.md", "Cancellations"],
      ["docs/guides/retries.md", "Retries and idempotency"],
      ["docs/guides/outcomes.md", "Outcomes"],
      ["docs/guides/cold-start.md", "Initial load"],
      ["docs/guides/changes.md", "Change feed and webhooks"],
      ["docs/guides/going-live.md", "Going live"],
      ["examples/pms-adapter/README.md", "Example: PMS adapter", "docs/guides/pms-adapter"],
    ],
    rest: "docs/guides/*.md",
  },
  {
    title: "PMS mappings",
    audience: "integrate",
    entries: [["docs/mappings/README.md", "Overview", "docs/mappings"]],
    rest: "docs/mappings/*.md",
  },
  {
    title: "Reference",
    audience: "integrate",
    entries: [
      ["", "API reference", API_PATH],
      ["docs/contract.md", "API conventions"],
      ["docs/records.md", "Field reference"],
      ["docs/errors.md", "Errors"],
      ["docs/authentication.md", "Authentication"],
      ["docs/reading.md", "Reading data"],
      ["docs/changes.md", "Change feed"],
      ["docs/webhooks.md", "Webhooks"],
      ["docs/backfill.md", "Backfills"],
      ["packages/client/README.md", "TypeScript client", "docs/client"],
      ["docs/clients.md", "Generated clients"],
      ["docs/sending.md", "Command-line client"],
      ["docs/certification.md", "Certification"],
      ["docs/simulator.md", "Simulator"],
      ["docs/versioning.md", "API versions"],
    ],
    rest: "docs/*.md",
  },
  {
    title: "About",
    audience: "integrate",
    entries: [
      ["docs/guarantees.md", "Guarantees"],
      ["docs/limits.md", "Known limits"],
      ["docs/architecture.md", "Architecture"],
      ["CHANGELOG.md", "Changelog", "docs/changelog"],
    ],
  },
  {
    title: "Figures",
    audience: "analyse",
    entries: [
      ["docs/analyse.md", "Overview"],
      ["docs/figures.md", "Figures"],
      ["docs/console.md", "Console"],
      ["docs/insight.md", "Insight"],
      ["docs/analytics.md", "SQL views"],
      ["docs/export.md", "Export"],
    ],
  },
  {
    title: "Run",
    audience: "operate",
    entries: [
      ["docs/operate.md", "Overview"],
      ["docs/deployment.md", "Deployment"],
      ["docs/configuration.md", "Configuration"],
      ["docs/operations.md", "Operations"],
      ["docs/incidents.md", "Incidents"],
      ["docs/operators.md", "Operator accounts"],
      ["docs/delivery.md", "Reports and alerts"],
      ["docs/telemetry.md", "Telemetry"],
      ["docs/scale.md", "Capacity and scaling"],
    ],
  },
  {
    title: "Keep",
    audience: "operate",
    entries: [
      ["docs/backup.md", "Backup and restore"],
      ["docs/retention.md", "Data retention"],
      ["docs/privacy.md", "Privacy"],
      ["docs/security.md", "Security"],
      ["docs/upgrades.md", "Upgrades"],
    ],
  },
];

export function readContents(): readonly Section[] {
  const named = new Set(SECTIONS.flatMap(({ entries }) => entries.map(([file]) => file)));
  return SECTIONS.map(({ title, audience, entries, rest }) => ({
    title,
    audience,
    pages: [
      ...entries.map(([file, label, path]) => pageOf(file, label, path)),
      ...(rest === undefined ? [] : findFiles(rest))
        .filter((file) => !named.has(file))
        .map((file) => pageOf(file, titleOf(file))),
    ],
  }));
}

function pageOf(file: string, label: string, path = file.replace(/\.md$/, "")): Page {
  return { path, file, label };
}

function titleOf(file: string): string {
  return /^# ([^:\n]+)/m.exec(readText(file))?.[1]?.replaceAll("`", "") ?? file;
}

export function findFiles(pattern: string): string[] {
  return globSync(pattern, { cwd: fileURLToPath(ROOT) }).sort();
}

export function readText(file: string): string {
  return readFileSync(new URL(file, ROOT), "utf8");
}

/** A relative link between two addresses, so that the site also works below a path of a proxy. */
export function relativeAddress(from: string, to: string): string {
  // A file in the folder of the same name (docs/decisions from docs) needs its own name in the link.
  return posix.join(posix.relative(posix.dirname(from), posix.dirname(to)), posix.basename(to));
}
