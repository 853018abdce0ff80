import { execFile } from "node:child_process";
import { existsSync, lstatSync } from "node:fs";
import { cp, mkdir, readFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { promisify } from "node:util";
import {
  type ContextRules,
  contextRules,
  type Instruction,
  pairsOf,
  readCopy,
  readDockerfile,
  type Stage,
} from "./dockerfile.ts";
import { makeRoot, put, runIn } from "./root.ts";

/** An image as this machine made it. */
export interface Image {
  readonly root: string;
  readonly stages: readonly Stage[];
}

interface Building {
  readonly context: string;
  readonly rules: ContextRules;
  /** Of each stage that is named. */
  readonly roots: Map<string, string>;
  readonly progress: (line: string) => void;
}

/** One stage as it grows. */
interface Growing {
  readonly root: string;
  directory: string;
  uid: number;
  environment: Record<string, string>;
}

/** What a build on this machine is given of its environment: how it reaches others, and whom it trusts. */
const BUILD_ENVIRONMENT = ["NODE_EXTRA_CA_CERTS", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"];

/** Carries out the Dockerfile of a checkout, stage by stage, on this machine's system in the place of the base image. */
export async function buildImage(
  context: string,
  directory: string,
  progress: (line: string) => void,
): Promise<Image> {
  const stages = readDockerfile(await readFile(join(context, "Dockerfile"), "utf8"));
  const rules = contextRules(await readFile(join(context, ".dockerignore"), "utf8"));
  const building: Building = { context, rules, roots: new Map(), progress };
  let last = "";
  for (const [index, stage] of stages.entries()) {
    last = join(directory, stage.name ?? `stage-${index}`);
    await makeRoot(last);
    await buildStage(building, stage, last);
    if (stage.name !== undefined) building.roots.set(stage.name, last);
  }
  return { root: last, stages };
}

async function buildStage(building: Building, stage: Stage, root: string): Promise<void> {
  const trusted = process.env["NODE_EXTRA_CA_CERTS"];
  if (stage.name !== undefined && trusted !== undefined && !existsSync(join(root, trusted)))
    await put(root, trusted, trusted);
  const { stdout } = await promisify(execFile)("npm", ["config", "get", "registry"]);
  const environment: Record<string, string> = { HOME: "/root", npm_config_registry: stdout.trim() };
  for (const name of BUILD_ENVIRONMENT) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  const growing: Growing = { root, directory: "/", uid: 0, environment };
  for (const instruction of stage.instructions) await carryOut(building, growing, instruction);
}

async function carryOut(building: Building, stage: Growing, { name, text }: Instruction): Promise<void> {
  if (name === "WORKDIR") {
    stage.directory = text;
    await mkdir(join(stage.root, text), { recursive: true });
  } else if (name === "ENV") Object.assign(stage.environment, pairsOf(text));
  else if (name === "USER") stage.uid = Number(text.split(":")[0]);
  else if (name === "COPY") await copy(building, stage, text);
  else if (name === "RUN") await runStep(building, stage, text);
  // The others say how the image is run.
}

async function runStep({ progress }: Building, stage: Growing, text: string): Promise<void> {
  const { root, directory, uid, environment } = stage;
  const startedAt = performance.now();
  const { code, out, err } = await runIn(root, ["/bin/sh", "-c", text], {
    uid,
    directory,
    environment,
    locked: false,
  });
  progress(`  RUN ${text.slice(0, 90)}  (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`);
  if (code !== 0) throw new Error(`RUN ${text} ended with ${code}:\n${out}${err}`);
}

/** Carries out a COPY into a stage whose root is a folder of this machine. */
export async function copy(
  { context, rules, roots }: Pick<Building, "context" | "rules" | "roots">,
  stage: Pick<Growing, "root" | "directory">,
  text: string,
): Promise<void> {
  const { from, paths, target } = readCopy(text);
  const base = from === undefined ? context : (roots.get(from) ?? "");
  const into = join(stage.root, resolve(stage.directory, target));
  for (const path of paths) {
    const source = join(base, path);
    const isDirectory = path === "." || from !== undefined;
    const destination = isDirectory ? into : join(into, path.split("/").at(-1) ?? "");
    await cp(source, destination, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (file) => from !== undefined || isInContext(rules, context, file),
    });
  }
}

function isInContext(rules: ContextRules, context: string, file: string): boolean {
  const path = relative(context, file);
  if (path === "") return true;
  return lstatSync(file).isDirectory() ? rules.mayHold(path) : rules.includes(path);
}
