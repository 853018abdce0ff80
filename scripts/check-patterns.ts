/**
 * `npm run check -- patterns`: refuses regular expressions that take more than linear time on some text. Reads every literal and `new RegExp`
 * of src, packages and bin.
 */
import { globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import ts from "typescript";

/** A regular expression and where it stands. */
export interface Pattern {
  readonly place: string;
  readonly source: string;
  readonly flags: string;
}

/** The part of recheck that is used. Its pure JavaScript: the default starts a process. */
interface Recheck {
  checkSync(
    source: string,
    flags: string,
    options: { readonly checker: "automaton"; readonly timeout: number },
  ): {
    readonly status: "safe" | "vulnerable" | "unknown";
    readonly complexity?: { readonly summary: string };
    readonly attack?: { readonly pattern: string };
    readonly error?: { readonly kind: string };
  };
}

const root = fileURLToPath(new URL("../", import.meta.url));
const FILES = ["src/**/*.ts", "packages/*/**/*.{ts,tsx}", "bin/*.mjs"];
const IGNORED = /node_modules|\/dist\/|\.test\.ts$|\.worker\.ts$/;
const TIMEOUT_MS = 20_000;

/** Expressions that only read text of this repository, by file. */
const OWN_TEXT: Readonly<Record<string, readonly string[]>> = {
  "src/platform/db/dialect.ts": [String.raw`\/\* nested \*\/[\s\S]*?\/\* or\s([\s\S]*?)\*\/`],
  "src/platform/db/migrate.ts": [
    String.raw`^(?:--[^\n]*\n)+create (?:unique )?index concurrently (\w+)\s+on (\w+)\.\w[^;]*;?\s*$`,
  ],
  "packages/docs/browser/search.ts": [String.raw`\s+\S*$`],
  "packages/docs/markdown.ts": ["<!--[\\s\\S]*?-->", String.raw`\]\(([^)\s]+)\)`],
  "packages/docs/page.ts": [String.raw`\s+\S*$`],
};

/** What `new RegExp` is given in a file where it is not a constant, for example. */
const EXAMPLES: Readonly<Record<string, string>> = {
  "src/platform/db/citus/shard-groups.ts": String.raw`(?<![\w.])(?:(bellhop|bellhop_state)\.)?(accept_log|night|state)(?!\w)`,
  "src/privacy/erasure/redact-elsewhere.ts": String.raw`anna \(maria\)|anna|(?<![\p{L}\p{N}_])4711(?![\p{L}\p{N}_])`,
  "packages/docs/browser/search.ts": "(record|records)",
};

/** The value of a constant expression: texts, numbers, templates of them, and constants of the same file. */
function constantOf(node: ts.Expression, constants: ReadonlyMap<string, ts.Expression>): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isNumericLiteral(node)) return node.text;
  if (ts.isTaggedTemplateExpression(node)) {
    if (node.tag.getText() !== "String.raw") return undefined;
    return templateOf(node.template, constants, (part) => part.rawText ?? part.text);
  }
  if (ts.isTemplateExpression(node)) return templateOf(node, constants, ({ text }) => text);
  if (!ts.isIdentifier(node)) return undefined;
  const constant = constants.get(node.text);
  return constant === undefined ? undefined : constantOf(constant, constants);
}

function templateOf(
  template: ts.TemplateLiteral,
  constants: ReadonlyMap<string, ts.Expression>,
  textOf: (part: ts.TemplateLiteralLikeNode) => string,
): string | undefined {
  if (ts.isNoSubstitutionTemplateLiteral(template)) return textOf(template);
  let text: string | undefined = textOf(template.head);
  for (const { expression, literal } of template.templateSpans) {
    const value = constantOf(expression, constants);
    text = text === undefined || value === undefined ? undefined : text + value + textOf(literal);
  }
  return text;
}

/** The regular expressions of a file. Throws for a `new RegExp` that is neither constant nor in EXAMPLES. */
export function patternsOf(file: string, text: string): Pattern[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const constants = new Map<string, ts.Expression>();
  const patterns: Pattern[] = [];
  const add = (node: ts.Node, expression: string, flags: string) => {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart());
    patterns.push({ place: `${file}:${line + 1}`, source: expression, flags });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer !== undefined)
      constants.set(node.name.text, node.initializer);
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf("/");
      add(node, node.text.slice(1, end), node.text.slice(end + 1));
    } else if (isConstruction(node)) {
      const [first, second] = node.arguments ?? [];
      const expression = (first && constantOf(first, constants)) ?? EXAMPLES[file];
      if (expression === undefined)
        throw new Error(
          `${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}: a RegExp that is not constant needs an example in EXAMPLES of scripts/check-patterns.ts, or to be constant.`,
        );
      add(node, expression, (second && constantOf(second, constants)) ?? "");
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return patterns;
}

function isConstruction(node: ts.Node): node is ts.NewExpression | ts.CallExpression {
  return (ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === "RegExp";
}

const { checkSync } = createRequire(import.meta.url)("recheck/lib/browser.js") as Recheck;

/** How its time grows, with a text that shows it; undefined if linear. */
export function growthOf({ source, flags }: Pick<Pattern, "source" | "flags">): string | undefined {
  const found = checkSync(source, flags, { checker: "automaton", timeout: TIMEOUT_MS });
  if (found.status === "safe") return undefined;
  return `${found.complexity?.summary ?? found.error?.kind ?? found.status}: ${found.attack?.pattern ?? ""}`;
}

if (import.meta.main) {
  const files = globSync(FILES, { cwd: root })
    .filter((file) => !IGNORED.test(file))
    .sort();
  const patterns = files.flatMap((file) => patternsOf(file, readFileSync(`${root}${file}`, "utf8")));
  const isOwn = ({ place, source }: Pattern) =>
    OWN_TEXT[place.slice(0, place.lastIndexOf(":"))]?.includes(source) === true;
  const growth = new Map<string, string | undefined>();
  for (const pattern of patterns.filter((one) => !isOwn(one))) {
    const { place, source, flags } = pattern;
    const literal = `/${source}/${flags}`;
    if (!growth.has(literal)) growth.set(literal, growthOf(pattern));
    const found = growth.get(literal);
    if (found === undefined) continue;
    console.error(`${place} ${literal}\n  ${found}`);
    process.exitCode = 1;
  }
  console.log(`${patterns.length} regular expressions, ${growth.size} different ones checked.`);
}
