import { normalize } from "node:path/posix";

/** An instruction of a Dockerfile with its arguments on one line. */
export interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** What is built from one `FROM` on. */
export interface Stage {
  readonly name: string | undefined;
  readonly instructions: readonly Instruction[];
}

/** The stages of a Dockerfile, as far as ours uses the language: no heredocs, no other escape than `\` at a line's end. */
export function readDockerfile(text: string): readonly Stage[] {
  const lines = text
    .split("\n")
    .filter((line) => !/^\s*#/.test(line))
    .join("\n")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n");
  const stages: { name: string | undefined; instructions: Instruction[] }[] = [];
  for (const line of lines) {
    const [, name = "", rest = ""] = /^([A-Z]+)\s+(.*)$/.exec(line.trim()) ?? [];
    if (name === "FROM") stages.push({ name: / AS (\w+)$/.exec(rest)?.[1], instructions: [] });
    else if (name !== "") stages.at(-1)?.instructions.push({ name, text: rest });
  }
  return stages;
}

/** `A=b` pairs of an ENV instruction, none of whose values has a space. */
export function pairsOf(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    text.split(/\s+/).map((pair) => {
      const at = pair.indexOf("=");
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

/** The last instruction of a name in the last stage. */
export function lastOf(stages: readonly Stage[], name: string): string {
  const text = stages.at(-1)?.instructions.findLast((instruction) => instruction.name === name)?.text;
  if (text === undefined) throw new Error(`The last stage has no ${name}.`);
  return text;
}

/** Everything that ENV sets in the last stage. */
export function environmentOf(stages: readonly Stage[]): Readonly<Record<string, string>> {
  const own = stages.at(-1)?.instructions.filter(({ name }) => name === "ENV") ?? [];
  return Object.assign({}, ...own.map(({ text }) => pairsOf(text))) as Record<string, string>;
}

/** What COPY names. */
export interface CopySources {
  /** A stage; without one, the context. */
  readonly from: string | undefined;
  readonly paths: readonly string[];
  readonly target: string;
}

/** The arguments of a COPY instruction. */
export function readCopy(text: string): CopySources {
  const words = text.split(/\s+/);
  const from = words.find((word) => word.startsWith("--from="))?.slice("--from=".length);
  const paths = words.filter((word) => !word.startsWith("--"));
  const target = paths.pop() ?? ".";
  return { from, paths, target };
}

/** What .dockerignore lets through, by paths from the context's root. */
export interface ContextRules {
  includes(path: string): boolean;
  /** Whether anything below a folder may be included. */
  mayHold(folder: string): boolean;
}

interface ContextRule {
  /** Begins with `!`. */
  readonly isKept: boolean;
  readonly path: string;
  readonly pattern: RegExp;
}

/** Reads .dockerignore. The last rule that matches a path or a folder above it decides, as in the engine. */
export function contextRules(dockerignore: string): ContextRules {
  const rules = dockerignore
    .split("\n")
    .filter((line) => !line.startsWith("#") && line.trim() !== "")
    .map(readContextRule);
  const includes = (path: string) => rules.findLast(({ pattern }) => pattern.test(path))?.isKept ?? true;
  const mayHold = (folder: string) =>
    includes(folder) ||
    rules.some(({ isKept, path }) => isKept && (path.startsWith(`${folder}/`) || /[*?[]/.test(path)));
  return { includes, mayHold };
}

function readContextRule(line: string): ContextRule {
  const rule = line.trim();
  const isKept = rule.startsWith("!");
  const path = normalize(isKept ? rule.slice(1).trim() : rule).replace(/^\/(?=.)|(?<=.)\/$/g, "");
  return { isKept, path, pattern: new RegExp(`^${patternOf(path)}(?:/.*)?$`) };
}

/** A rule as Go matches paths; two asterisks are any number of folders, or none. */
function patternOf(rule: string): string {
  return rule.replaceAll(/\\.|\*\*\/?|[*?.+^${}()|]/g, (token, at: number) => {
    if (token.startsWith("**")) return at + token.length === rule.length ? ".*" : "(?:.*/)?";
    if (token === "*") return "[^/]*";
    if (token === "?") return "[^/]";
    return token.startsWith("\\") ? token : `\\${token}`;
  });
}
