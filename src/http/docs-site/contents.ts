import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { plainText } from "../page/inline-markdown.ts";
import { readBlocks } from "../page/markdown-blocks.ts";

/** A page of the site that is a Markdown file of the repository. */
export interface Page {
  /** Where it is served, without the slash at its beginning: `docs/guides/quickstart`. */
  readonly path: string;
  /** Where its text is, from the root of the repository: `docs/guides/quickstart.md`. */
  readonly file: string;
  /** What the contents call it. */
  readonly label: string;
}

/** A chapter of the contents: pages, and what else is served as one. */
export interface Section {
  readonly title: string;
  readonly pages: readonly (Page | { readonly path: string; readonly label: string })[];
}

type Entry = readonly [file: string, label: string, path?: string];

export const START_PATH = "docs";
export const API_PATH = "docs/api";
const ROOT = new URL("../../../", import.meta.url);

/** The pages by task, in the order in which somebody needs them. Those that are not there are left out. */
const SECTIONS: readonly {
  readonly title: string;
  readonly entries: readonly Entry[];
  readonly rest?: string;
}[] = [
  {
    title: "Start here",
    entries: [
      ["docs/README.md", "Overview", START_PATH],
      ["docs/guides/quickstart.md", "Quickstart"],
      ["docs/glossary.md", "Words"],
      ["docs/guarantees.md", "What is guaranteed"],
    ],
  },
  {
    title: "Guides",
    entries: [
      ["docs/guides/inventory.md", "Inventory"],
      ["docs/guides/reservations.md", "Reservations"],
      ["docs/guides/groups.md", "Groups"],
      ["docs/guides/shares.md", "Shares"],
      ["docs/guides/cancellations.md", "Cancellations"],
      ["docs/guides/retries.md", "Retries and idempotency"],
      ["docs/guides/outcomes.md", "Reading outcomes"],
      ["docs/guides/cold-start.md", "Cold start"],
      ["docs/guides/changes.md", "Changes and webhooks"],
      ["docs/guides/going-live.md", "Going live"],
      ["examples/pms-adapter/README.md", "A whole adapter", "docs/guides/pms-adapter"],
    ],
    rest: "docs/guides/*.md",
  },
  {
    title: "Reference",
    entries: [
      ["", "API reference", API_PATH],
      ["docs/contract.md", "The contract"],
      ["docs/records.md", "Records, field by field"],
      ["docs/errors.md", "Errors"],
      ["docs/authentication.md", "Authentication"],
      ["docs/reading.md", "Reading back"],
      ["docs/changes.md", "Change feed"],
      ["docs/webhooks.md", "Webhooks"],
      ["docs/backfill.md", "Backfill"],
      ["docs/insight.md", "Insight"],
      ["docs/analytics.md", "SQL views"],
      ["packages/client/README.md", "TypeScript client", "docs/client"],
      ["docs/sending.md", "Sending from a shell"],
      ["docs/certification.md", "Certification"],
      ["docs/simulator.md", "Simulator"],
      ["docs/versioning.md", "Versions and migration"],
    ],
    rest: "docs/*.md",
  },
  {
    title: "Operate",
    entries: [
      ["docs/operations.md", "Operations"],
      ["docs/deployment.md", "Deployment"],
      ["docs/configuration.md", "Settings"],
      ["docs/telemetry.md", "Telemetry"],
      ["docs/upgrades.md", "Upgrades"],
      ["CHANGELOG.md", "Changelog", "docs/changelog"],
      ["docs/console.md", "The console"],
      ["docs/security.md", "Security"],
      ["docs/privacy.md", "Privacy"],
      ["docs/scale.md", "Scale"],
      ["docs/measurements.md", "Measurements"],
      ["docs/conformance.md", "Conformance"],
    ],
  },
  {
    title: "Decisions",
    entries: [["docs/decisions/README.md", "All decisions", "docs/decisions"]],
    rest: "docs/decisions/*.md",
  },
];

/** Notes of who works on it, of use to nobody else. */
const LEFT_OUT = new Set(["docs/internal/plan.md"]);

/**
 * The contents of the site, from the files that are there. A file under docs/ that no section names is found all the same,
 * at the end of the section of its folder, under its own title.
 */
export function readContents(): readonly Section[] {
  const files = new Set(
    globSync(["docs/**/*.md", "examples/*/README.md", "packages/client/README.md", "CHANGELOG.md"], {
      cwd: fileURLToPath(ROOT),
    }),
  );
  const named = new Set([...LEFT_OUT, ...SECTIONS.flatMap(({ entries }) => entries.map(([file]) => file))]);
  return SECTIONS.map(({ title, entries, rest }) => ({
    title,
    pages: [
      ...entries.flatMap(([file, label, path]) =>
        file === "" ? [{ path: path ?? "", label }] : files.has(file) ? [pageOf(file, label, path)] : [],
      ),
      ...(rest === undefined ? [] : globSync(rest, { cwd: fileURLToPath(ROOT) }).sort())
        .filter((file) => !named.has(file))
        .map((file) => pageOf(file, titleOf(file))),
    ],
  }));
}

function pageOf(file: string, label: string, path = file.replace(/\.md$/, "")): Page {
  return { path, file, label };
}

/** What the contents call a file that no section names: its title, up to a colon. */
function titleOf(file: string): string {
  const heading = readBlocks(readText(file)).find((block) => block.kind === "heading");
  return heading?.kind === "heading" ? (plainText(heading.text).split(":")[0] ?? file) : file;
}

/** Where a file of the repository is. */
export function repositoryUrl(file: string): URL {
  return new URL(file, ROOT);
}

/** The text of a file of the repository. */
export function readText(file: string): string {
  return readFileSync(new URL(file, ROOT), "utf8");
}

/** The bytes of a file of the repository. */
export function readBytes(file: string): Buffer {
  return readFileSync(new URL(file, ROOT));
}

/** The pictures that pages show, by address. */
export function readPictures(): ReadonlyMap<string, string> {
  const files = globSync("docs/**/*.{webp,png,svg}", { cwd: fileURLToPath(ROOT) });
  return new Map(files.map((file) => [file, file]));
}

/**
 * An address as a page links to it: relative, so that the site also works below a path of a proxy. Both are paths from
 * the root without a slash at their beginning.
 */
export function relativeAddress(from: string, to: string): string {
  const here = from.split("/").slice(0, -1);
  const there = to.split("/");
  let shared = 0;
  while (shared < here.length && shared < there.length - 1 && here[shared] === there[shared]) shared += 1;
  return "../".repeat(here.length - shared) + there.slice(shared).join("/");
}
