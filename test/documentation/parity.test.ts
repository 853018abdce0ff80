import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { glob, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { KNOWN_STATUSES } from "#contract/statuses.ts";
import { VIOLATION_CODES } from "#contract/violation.ts";
import { WARNING_CODES } from "#contract/warnings.ts";
import { FAULTS } from "#simulator/faults.ts";
import type { QuarantineCode } from "../../src/apply/state/record.ts";
import { PARTNER_VARIABLES, readConfig } from "../../src/config.ts";
import { SETTINGS } from "../../src/config-table.ts";
import { SCOPES } from "../../src/identity/scopes.ts";
import { FINDING_KINDS } from "../../src/insight/finding.ts";
import { buildOpenApiDocument } from "../../src/openapi/document.ts";
import { createSurveyMetrics } from "../../src/operations/metrics/survey.ts";
import { ERRORS } from "../../src/platform/errors/registry.ts";
import { createMetrics, createProcessMetrics } from "../../src/platform/telemetry/metrics.ts";
import { OUTCOMES } from "../../src/query/outcome.ts";
import { SETTINGS as PROPERTY_SETTINGS } from "../../src/settings/setting-values.ts";
import { errorSections, withSections } from "../support/errors-document.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The type has no list at run time; the compiler holds this one to it. */
const QUARANTINE_CODES: Record<QuarantineCode, true> = {
  "time.future": true,
  "count.negative": true,
  "data.unstorable": true,
  "record.unreadable": true,
  "state.incomplete": true,
};

/** Those that may lie in a file each. */
const SECRET_SETTINGS = SETTINGS.filter((setting) => "isSecret" in setting).map(({ name }) => name);

const read = (path: string): Promise<string> => readFile(join(root, path), "utf8");

const documents = (
  await Array.fromAsync(
    glob(
      [
        "*.md",
        "docs/**/*.md",
        "src/*.md",
        "test/**/*.md",
        "bench/*.md",
        "examples/**/*.md",
        "packages/*/README.md",
      ],
      { cwd: root },
    ),
  )
).sort();

/** The rows of the table between `<!-- checked: name -->` and `<!-- end -->`, each as its cells without backticks. */
async function checkedRows(path: string, name: string): Promise<string[][]> {
  const section = (await read(path)).split(`<!-- checked: ${name} -->`)[1]?.split("<!-- end -->")[0];
  assert.ok(section !== undefined, `${path} has no checked section ${name}`);
  return section
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .slice(2)
    .map((line) =>
      line
        .slice(1, -1)
        .split("|")
        .map((cell) => cell.trim().replaceAll("`", "")),
    );
}

const column = (rows: readonly string[][], at: number): string[] => rows.map((row) => row[at] ?? "").sort();

/** A heading as the anchor that a reader's browser knows it by. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");
}

describe("the contract's lists are the code's", () => {
  test("every outcome", async () => {
    assert.deepEqual(column(await checkedRows("docs/contract.md", "outcomes"), 0), [...OUTCOMES].sort());
  });

  test("every setting of properties, with its default", async () => {
    const rows = await checkedRows("docs/operations.md", "property settings");
    assert.deepEqual(
      rows.map(([name, , fallback]) => [name, fallback]),
      PROPERTY_SETTINGS.map(({ name, fallback }) => [name, fallback ?? "none"]),
    );
  });

  test("every setting that is a secret, and so may lie in a file", async () => {
    const [, paragraph = ""] =
      /\*\*Secrets from files\.\*\* (.*?) are taken/s.exec(await read("docs/configuration.md")) ?? [];
    const named = [...paragraph.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    assert.deepEqual(named, SECRET_SETTINGS);
  });

  test("every finding of a reconciliation, in the order in which they are listed", async () => {
    const rows = await checkedRows("docs/insight.md", "findings");
    assert.deepEqual(
      rows.map(([kind]) => kind),
      FINDING_KINDS,
    );
  });

  test("every reason for quarantine", async () => {
    const rows = await checkedRows("docs/contract.md", "quarantine");
    assert.deepEqual(column(rows, 0), Object.keys(QUARANTINE_CODES).sort());
  });

  test("every reason for quarantine is one that the code gives, and no other", async () => {
    const given = new Set<string>();
    for await (const path of glob("src/apply/*.ts", { cwd: root })) {
      for (const [, code] of (await read(path)).matchAll(/\bcode: "([a-z]+\.[a-z-]+)"/g))
        given.add(code ?? "");
    }
    // A count below zero is a warning or a reason for quarantine, as the property is set.
    const codes = [...given].filter((code) => code in QUARANTINE_CODES || !(code in WARNING_CODES));
    assert.deepEqual(codes.sort(), Object.keys(QUARANTINE_CODES).sort());
  });

  test("every limit has the default of its setting", async () => {
    for (const [what, fallback, name] of await checkedRows("docs/contract.md", "limits")) {
      const setting = SETTINGS.find((candidate) => candidate.name === name);
      assert.equal(fallback, setting?.fallback, what);
    }
  });

  test("every scope is named", async () => {
    const text = (await read("docs/contract.md")) + (await read("docs/authentication.md"));
    for (const scope of SCOPES) assert.ok(text.includes(`\`${scope}\``), scope);
  });

  test("records.md lists all violations, warnings and statuses", async () => {
    const text = await read("docs/records.md");
    for (const code of [...Object.keys(VIOLATION_CODES), ...Object.keys(WARNING_CODES)])
      assert.ok(text.includes(`\`${code}\``), code);
    for (const { canonical, spellings } of [...KNOWN_STATUSES.reservations, ...KNOWN_STATUSES.groups]) {
      for (const word of [canonical, ...spellings]) assert.ok(text.includes(word), word);
    }
  });
});

describe("configuration.md is the table of settings", () => {
  test("every setting with its type, default and description", async () => {
    const settings = SETTINGS.map(({ name, kind, fallback, meaning }) => [
      name,
      kind,
      fallback ?? "not set",
      meaning.replaceAll("`", ""),
    ]);
    assert.deepEqual(await checkedRows("docs/configuration.md", "settings"), settings);
  });
});

describe("operations.md knows the service", () => {
  test("every metric of the service, and no other", async () => {
    const ours = [createMetrics(), createSurveyMetrics(), createProcessMetrics()]
      .flatMap(({ registry }) => registry.getMetricsAsArray())
      .flatMap(({ name }) => (name.startsWith("bellhop_") ? [name] : []));
    assert.deepEqual(column(await checkedRows("docs/operations.md", "metrics"), 0), ours.sort());
  });
});

describe("simulator.md knows the simulator", () => {
  test("every fault with its description, and no others", async () => {
    const rows = await checkedRows("docs/simulator.md", "simulator-faults");
    const faults = rows.map(([name = "", meaning = ""]) => [name, meaning]);
    assert.deepEqual(faults, Object.entries(FAULTS));
  });
});

describe("documents name only existing things", () => {
  test("errors", async () => {
    for (const path of documents) {
      for (const [code] of (await read(path)).matchAll(/\bbellhop\.[a-z]+\.[A-Z]\w+/g))
        assert.ok(code in ERRORS, `${path} names ${code}`);
    }
  });

  test("settings", async () => {
    const names = new Set<string>([
      ...SETTINGS.map(({ name }) => name),
      ...SECRET_SETTINGS.map((name) => `${name}_FILE`),
      ...Object.values(PARTNER_VARIABLES),
      `${PARTNER_VARIABLES.clientSecret}_FILE`,
      "TEST_DATABASE_URL",
      "XDG_CACHE_HOME",
    ]);
    for (const path of documents) {
      for (const [, name] of (await read(path)).matchAll(/`([A-Z]+(?:_[A-Z]+)+)(?:=[^`]*)?`/g)) {
        const isStatus = KNOWN_STATUSES.reservations.some(({ canonical }) => canonical === name);
        const isPlaceholder = /_ID$|^AUTH_URL$/.test(name ?? "");
        assert.ok(names.has(name ?? "") || isStatus || isPlaceholder, `${path} names ${name}`);
      }
    }
  });

  test("files and headings that it links to", async () => {
    for (const path of documents) {
      for (const [, target = ""] of (await read(path)).matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(target)) continue;
        const [file = "", anchor] = target.split("#");
        const linked = file === "" ? path : join(dirname(path), file);
        assert.ok(existsSync(join(root, linked)), `${path} links to ${target}`);
        if (anchor === undefined) continue;
        const headings = [...(await read(linked)).matchAll(/^#+ (.*)$/gm)].map(([, text]) =>
          anchorOf(text ?? ""),
        );
        assert.ok(headings.includes(anchor), `${path} links to ${target}`);
      }
    }
  });

  test("and nothing outside its package from the client's README", async () => {
    const text = await read("packages/client/README.md");
    assert.deepEqual([...text.matchAll(/\]\((?!https?:|#)[^)]*\)/g)], []);
  });

  test("files of the repository that it names", async () => {
    for (const path of documents) {
      for (const [, file = ""] of (await read(path)).matchAll(
        /`((?:src|test|sql|bench|scripts|bin|docs|examples|packages)\/[\w./-]+\.\w+)`/g,
      ))
        assert.ok(existsSync(join(root, file)), `${path} names ${file}`);
    }
  });

  test("files and decisions that comments of the code name", async () => {
    const decisions = (await readdir(join(root, "docs/decisions"))).map((name) => name.slice(0, 4));
    const code = glob(
      ["{src,bench,test,scripts,sql,bin}/**/*.{ts,sql,mjs}", "packages/*/src/**/*.{ts,tsx}"],
      {
        cwd: root,
      },
    );
    for await (const path of code) {
      for (const [comment] of (await read(path)).matchAll(/^\s*(?:\/\/|\/?\*|--) .*$/gm)) {
        for (const [, number = ""] of comment.matchAll(/docs\/decisions\/(\d{4})/g))
          assert.ok(decisions.includes(number), `${path} names decision ${number}`);
        for (const [file] of comment.matchAll(
          /(?<![\w./])(?:src|test|sql|bench|scripts|bin|docs|packages)\/[\w./-]+\.(?:ts|tsx|sql|md|mjs)\b/g,
        ))
          assert.ok(
            [root, join(root, dirname(path))].some((from) => existsSync(join(from, file))),
            `${path} names ${file}`,
          );
      }
    }
  });

  test("scripts of npm", async () => {
    const { scripts } = JSON.parse(await read("package.json")) as { scripts: Record<string, string> };
    for (const path of documents) {
      for (const [, name = ""] of (await read(path)).matchAll(/npm run (?:-s )?([\w:-]+)/g))
        assert.ok(name in scripts, `${path} names npm run ${name}`);
    }
  });
});

describe("what documents have from the code is as the code has it", () => {
  test("the errors and their causes", async () => {
    const sections = errorSections(buildOpenApiDocument(readConfig({})));
    const catalogue = await read("docs/errors.md");
    assert.equal(
      catalogue,
      withSections(catalogue, sections),
      "not up to date: run npm run generate -- docs",
    );
    for (const code of Object.keys(ERRORS)) assert.ok(catalogue.includes(`### ${code}\n`), code);
  });
});
