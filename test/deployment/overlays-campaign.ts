import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual, promisify } from "node:util";
import { readOptions } from "../../scripts/read-options.ts";
import { NotHere } from "../faults/campaign-command.ts";
import { type KubernetesObject, OVERLAYS, overlayPath, readDocuments, readOverlay } from "./overlays.ts";
import { type Note, notes } from "./tried.ts";

const run = promisify(execFile);
const USAGE = `npm run campaign -- overlays

Builds each overlay of Kubernetes and validates its objects strictly against the schemas of several versions. Needs kubectl or kustomize,
Python with venv, and installs kubernetes-validate from PyPI into a temporary folder.`;

const VALIDATOR = "kubernetes-validate==1.37.0";
/** From the first with `preStop.sleep` by default to the newest that the validator has schemas of. */
const VERSIONS = ["1.30.0", "1.34.0", "1.37.0"];
const BUILDERS = [
  ["kubectl", "kustomize"],
  ["kustomize", "build"],
] as const;

/** Answers whether every overlay is what this version of Kubernetes takes, and what our tests take it for. */
export async function overlaysCampaign(args: string[]): Promise<boolean> {
  readOptions(USAGE, {}, args);
  const { tried, note } = notes((line) => console.log(line));
  const folder = await mkdtemp(join(tmpdir(), "bellhop-overlays-"));
  try {
    const validate = await installValidator(folder);
    for (const name of OVERLAYS) {
      const file = join(folder, `${name}.yaml`);
      const built = await buildOverlay(name);
      await writeFile(file, built);
      for (const version of VERSIONS) await tryVersion(validate, name, file, version, note);
      const objects = readDocuments(built);
      note(
        `${name}: read alike by our tests`,
        isSame(objects, readOverlay(name)),
        `${objects.length} objects`,
      );
    }
    await tryFault(validate, folder, note);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return tried.every(({ isRight }) => isRight);
}

type Validate = (
  file: string,
  version: string,
) => Promise<{ readonly passed: number; readonly said: string }>;

async function installValidator(folder: string): Promise<Validate> {
  const environment = join(folder, "python");
  try {
    await run("python3", ["-m", "venv", environment]);
    await run(join(environment, "bin/pip"), ["install", "--quiet", VALIDATOR]);
  } catch (error) {
    throw new NotHere(`it takes Python with venv and PyPI: ${(error as Error).message}`);
  }
  return async (file, version) => {
    const options = ["--strict", "--kubernetes-version", version, file];
    const { stdout, stderr } = await run(join(environment, "bin/kubernetes-validate"), options).catch(
      (error) => error,
    );
    const lines = `${stdout}${stderr}`.trim().split("\n");
    return {
      passed: lines.filter((line) => / passed for /.test(line)).length,
      said: lines.filter((line) => !/ passed for /.test(line)).join("\n"),
    };
  };
}

async function buildOverlay(name: string): Promise<string> {
  const isHere = (program: string) =>
    (process.env["PATH"] ?? "").split(":").some((folder) => existsSync(join(folder, program)));
  const [program, command] = BUILDERS.find(([candidate]) => isHere(candidate)) ?? [];
  if (program === undefined || command === undefined) throw new NotHere("it takes kubectl or kustomize.");
  return (await run(program, [command, overlayPath(name)])).stdout;
}

async function tryVersion(
  validate: Validate,
  name: (typeof OVERLAYS)[number],
  file: string,
  version: string,
  note: Note,
) {
  const { passed, said } = await validate(file, version);
  const count = readOverlay(name).length;
  note(
    `${name}: valid in ${version}`,
    passed === count,
    `${passed} of ${count} objects${said && `: ${said}`}`,
  );
}

/** A validator that accepts everything proves nothing. */
async function tryFault(validate: Validate, folder: string, note: Note): Promise<void> {
  const file = join(folder, "fault.yaml");
  await writeFile(file, (await buildOverlay("single")).replace("readinessProbe:", "readynessProbe:"));
  const { said } = await validate(file, VERSIONS[0] ?? "");
  note("a misspelt field is refused", /readynessProbe/.test(said), said.split("\n").at(-1) ?? "");
}

function isSame(left: readonly KubernetesObject[], right: readonly KubernetesObject[]): boolean {
  const byName = (objects: readonly KubernetesObject[]) =>
    objects
      .map((object) => [`${object.kind} ${object.metadata.name}`, object])
      .sort(([one], [other]) => (one < other ? -1 : 1));
  return isDeepStrictEqual(byName(left), byName(right));
}
