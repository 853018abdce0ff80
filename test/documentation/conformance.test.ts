import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";

const ROOT = new URL("../../", import.meta.url);

interface Citation {
  readonly file: string;
  readonly name: string;
}

/** One row of a table whose last column is "Shown by". */
interface Demand {
  readonly line: number;
  readonly where: string;
  readonly text: string;
  readonly citations: readonly Citation[];
}

/** The citations of a cell: `file` › "name", "name"; several files are divided by <br>. Throws for anything else. */
function citationsOf(cell: string, line: number): Citation[] {
  return cell.split("<br>").flatMap((part) => {
    const [, file, names] = /^`([^`]+\.test\.ts)` › ((?:"[^"]+"(?:, )?)+)$/.exec(part.trim()) ?? [];
    assert.ok(file !== undefined && names !== undefined, `line ${line}: not a citation: ${part}`);
    return [...names.matchAll(/"([^"]+)"/g)].map((match) => ({ file, name: String(match[1]) }));
  });
}

function demandsOf(text: string): Demand[] {
  const demands: Demand[] = [];
  let inTable = false;
  text.split("\n").forEach((row, index) => {
    if (!row.startsWith("|")) inTable = false;
    else if (/\| Shown by \|$/.test(row)) inTable = true;
    else if (inTable && !row.startsWith("|---")) {
      const cells = row.slice(1, -1).split(" | ");
      assert.equal(cells.length, 3, `line ${index + 1} has ${cells.length} cells`);
      const [where = "", demand = "", shown = ""] = cells.map((cell) => cell.trim());
      demands.push({ line: index + 1, where, text: demand, citations: citationsOf(shown, index + 1) });
    }
  });
  return demands;
}

/** A test's name as its source has it; what a template fills in may be anything. */
function patternOf(source: string): RegExp {
  const literal = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(
    `^${source
      .split(/\$\{[^}]*\}/)
      .map(literal)
      .join(".+")}$`,
  );
}

/** The names of the tests that a file runs: a skipped one or one to be done shows nothing. */
function testsOf(source: string): RegExp[] {
  return [...source.matchAll(/(?:^|\s)(?:test|it)\(\s*(["'`])((?:\\.|(?!\1)[\s\S])+?)\1/g)].map((match) =>
    patternOf(String(match[2]).replace(/\\(["'`])/g, "$1")),
  );
}

/** The documents, and how many demands each has at least: a table whose form is not read would show nothing. */
const DOCUMENTS = { "docs/internal/conformance.md": 140, "docs/internal/security-checklist.md": 70 } as const;

for (const [path, demandsMin] of Object.entries(DOCUMENTS)) {
  const demands = demandsOf(await readFile(new URL(path, ROOT), "utf8"));

  describe(path, () => {
    test("has a test for every demand, in a file that exists, under exactly that name", async () => {
      assert.ok(demands.length > demandsMin, `${demands.length} demands were found`);
      const tests = new Map<string, RegExp[]>();
      const wrong: string[] = [];
      for (const { line, where, citations } of demands) {
        for (const { file, name } of citations) {
          if (!tests.has(file)) {
            const source = await readFile(new URL(file, ROOT), "utf8").catch(() => "");
            tests.set(file, testsOf(source));
          }
          if (tests.get(file)?.some((pattern) => pattern.test(name)) !== true)
            wrong.push(`line ${line} (${where}): ${file} has no test "${name}"`);
        }
      }
      assert.deepEqual(wrong, []);
    });

    test("names the place and text of each requirement", () => {
      for (const { line, where, text, citations } of demands) {
        assert.match(where, /\w/, `line ${line}`);
        assert.match(text, /\w{2}/, `line ${line}`);
        assert.ok(citations.length > 0, `line ${line}`);
      }
    });

    if (path === "docs/internal/security-checklist.md") {
      test("shows every line of the checklist from outside, not by a unit alone", () => {
        const inside = demands.filter(({ citations }) =>
          citations.every(({ file }) => file.startsWith("src/")),
        );
        assert.deepEqual(
          inside.map(({ line, text }) => `line ${line}: ${text}`),
          [],
        );
      });
    }
  });
}
