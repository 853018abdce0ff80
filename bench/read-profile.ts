/**
 * `node bench/read-profile.ts DIRECTORY`: summarizes the CPU profiles of `npm run bench -- --profile DIRECTORY` by
 * place (source folder, package, node, engine) and by function, as shares of the busy time.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

interface ProfileNode {
  readonly id: number;
  readonly children?: readonly number[];
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
}

interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const FUNCTIONS_SHOWN = 45;

function placeOf({ functionName, url }: ProfileNode["callFrame"]): string {
  if (functionName === "(garbage collector)") return "garbage collector";
  if (url === "") return "engine and native";
  if (url.startsWith("node:")) return "node";
  const dependency = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];
  return dependency ?? /\/(src\/[^/]+)/.exec(url)?.[1] ?? url;
}

function add(sums: Map<string, number>, name: string, microseconds: number): void {
  sums.set(name, (sums.get(name) ?? 0) + microseconds);
}

function lines(sums: ReadonlyMap<string, number>, total: number, most: number): string[] {
  return [...sums]
    .sort(([, left], [, right]) => right - left)
    .slice(0, most)
    .map(([name, time]) => `${((100 * time) / total).toFixed(1).padStart(6)} %  ${name}`);
}

/** The product's functions on a sample's stack, each once. */
function ownFunctions(profile: Profile): Map<number, ReadonlySet<string>> {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const found = new Map<number, ReadonlySet<string>>();
  const visit = (node: ProfileNode, above: ReadonlySet<string>): void => {
    const own = /\/src\/(.*)$/.exec(node.callFrame.url)?.[1];
    const within =
      own === undefined ? above : new Set([...above, `${node.callFrame.functionName}  src/${own}`]);
    found.set(node.id, within);
    for (const child of node.children ?? []) visit(nodes.get(child) as ProfileNode, within);
  };
  if (profile.nodes[0] !== undefined) visit(profile.nodes[0], new Set());
  return found;
}

function report(file: string): void {
  const profile = JSON.parse(readFileSync(file, "utf8")) as Profile;
  const nodes = new Map(profile.nodes.map((node) => [node.id, node.callFrame]));
  const places = new Map<string, number>();
  const functions = new Map<string, number>();
  const own = ownFunctions(profile);
  const inclusive = new Map<string, number>();
  let busy = 0;
  profile.samples.forEach((id, at) => {
    const frame = nodes.get(id);
    const delta = profile.timeDeltas[at] ?? 0;
    if (frame === undefined || frame.functionName === "(idle)" || frame.functionName === "(root)") return;
    busy += delta;
    add(places, placeOf(frame), delta);
    for (const name of own.get(id) ?? []) add(inclusive, name, delta);
    const where = frame.url.replace(/^file:\/\/.*\/(src|node_modules)\//, "$1/");
    add(functions, `${frame.functionName || "(anonymous)"}  ${where}:${frame.lineNumber + 1}`, delta);
  });
  console.log(`${file}: busy ${(busy / 1e6).toFixed(1)} s`);
  console.log(lines(places, busy, 20).join("\n"));
  console.log(`\nOurs, with all they call:\n${lines(inclusive, busy, FUNCTIONS_SHOWN).join("\n")}`);
  console.log(`\nBy themselves:\n${lines(functions, busy, FUNCTIONS_SHOWN).join("\n")}`);
}

const directory = process.argv[2];
if (directory === undefined) throw new Error("Name the directory of the profiles.");
for (const name of readdirSync(directory)) if (name.endsWith(".cpuprofile")) report(join(directory, name));
