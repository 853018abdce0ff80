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

/** Whether .dockerignore lets a file of the context through, by its path from there: the last rule that fits says it. */
export function contextRules(dockerignore: string): (path: string) => boolean {
  const rules = dockerignore
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => ({ isKept: line.startsWith("!"), pattern: patternOf(line.replace(/^!/, "")) }));
  return (path) => rules.findLast(({ pattern }) => pattern.test(path))?.isKept ?? true;
}

/** A rule holds for what it names and for everything below; `*` stays within a directory, a double one with a slash goes through any. */
function patternOf(rule: string): RegExp {
  const source = rule
    .replaceAll(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("**/", "\u0000")
    .replaceAll("*", "[^/]*")
    .replaceAll("\u0000", "(?:.*/)?");
  return new RegExp(`^${source}(?:/.*)?$`);
}
