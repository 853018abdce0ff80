import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startTestService, type TestService } from "../support/service.ts";
import {
  CLIENTS,
  type GeneratedClient,
  NPM_TOOLS,
  OPENAPI_GENERATOR,
  OPENAPI_PYTHON_CLIENT,
  type Step,
  type Tools,
  warningsIn,
} from "./clients.ts";
import { startNextRelease, WORD_OF_TOMORROW } from "./next-release.ts";

const execute = promisify(execFile);
const PRINTED_BYTES_MAX = 64 * 1024 * 1024;
/** What each program prints when it has done it. */
const DONE = ["pushed", "read back", "paged"] as const;
/** What it prints besides where a later release answers. */
const READ_OF_TOMORROW = [`outcome ${WORD_OF_TOMORROW}`, `warning ${WORD_OF_TOMORROW}`];

const cache = fileURLToPath(new URL("../../node_modules/.cache/generated-clients", import.meta.url));

/** What came of a client: how far it got, what was wrong, and the warnings of its generator. */
export interface Tried {
  readonly name: string;
  /** `undefined`, here and below: not tried on this machine, or never. */
  readonly generated: boolean | undefined;
  readonly warnings: ReturnType<typeof warningsIn>;
  readonly compiled: boolean | undefined;
  readonly done: Readonly<Record<(typeof DONE)[number], boolean>> | undefined;
  /** Whether the same program does the same with the answers of a later release. */
  readonly later: boolean | undefined;
  readonly problem: string | undefined;
}

/** Fetches the generators, once; Maven, pip and npm keep what they fetched. */
async function installTools(): Promise<Tools> {
  await mkdir(cache, { recursive: true });
  const jar = join(cache, `openapi-generator-cli-${OPENAPI_GENERATOR}.jar`);
  const artifact = `-Dartifact=org.openapitools:openapi-generator-cli:${OPENAPI_GENERATOR}`;
  if (!existsSync(jar))
    await execute("mvn", ["-q", "dependency:copy", artifact, `-DoutputDirectory=${cache}`]);
  const environment = join(cache, `python-${OPENAPI_PYTHON_CLIENT}`);
  const python = join(environment, "bin/python");
  if (!existsSync(join(environment, "bin/openapi-python-client"))) {
    await execute("python3", ["-m", "venv", "--clear", environment]);
    const needed = [
      `openapi-python-client==${OPENAPI_PYTHON_CLIENT}`,
      "urllib3",
      "pydantic",
      "python-dateutil",
    ];
    await execute(python, ["-m", "pip", "install", "-q", ...needed]);
  }
  const version = createHash("sha256").update(NPM_TOOLS.join()).digest("hex").slice(0, 8);
  const npm = join(cache, `npm-${version}`);
  const modules = join(npm, "node_modules");
  if (!existsSync(join(modules, ".package-lock.json"))) {
    await mkdir(npm, { recursive: true });
    await writeFile(join(npm, "package.json"), '{"private": true}');
    const quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error"];
    await execute("npm", ["install", ...quiet, "--prefix", npm, ...NPM_TOOLS], { cwd: npm });
  }
  return { jar, python, modules };
}

/** What it printed on both channels. Throws with that where it ends otherwise than well. */
async function carryOut({ command, directory }: Step, environment: Readonly<Record<string, string>> = {}) {
  const [file, ...args] = command;
  const { stdout, stderr } = await execute(file, args, {
    cwd: directory,
    maxBuffer: PRINTED_BYTES_MAX,
    env: { ...process.env, ...environment },
  }).catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`${command.join(" ")}\n${error.stdout}${error.stderr}`);
  });
  return stdout + stderr;
}

async function isHere([file, ...args]: readonly [string, ...string[]]): Promise<boolean> {
  return await execute(file, args).then(
    () => true,
    () => false,
  );
}

/** Pushes and reads by the client's program, as a client and at a property of its own: the lines that it prints. */
async function runProgram(
  step: Step,
  service: TestService,
  address: string,
  property: string,
): Promise<string[]> {
  const { clientId, clientSecret } = await service.newClient({
    grants: [{ clientCode: "DEMO", propertyCode: property }],
  });
  const printed = await carryOut(step, {
    BASE_URL: address,
    CLIENT_ID: clientId,
    CLIENT_SECRET: clientSecret,
    PROPERTY: property,
  });
  return printed.split("\n").map((line) => line.trimEnd());
}

async function tryClient(
  client: GeneratedClient,
  tools: Tools,
  service: TestService,
  later: string,
  directory: string,
): Promise<Tried> {
  const tried: { -readonly [Name in keyof Tried]: Tried[Name] } = {
    name: client.name,
    generated: undefined,
    warnings: { ours: [], own: [] },
    compiled: undefined,
    done: undefined,
    later: undefined,
    problem: undefined,
  };
  try {
    await mkdir(directory);
    if (client.generator !== undefined && !(await isHere(client.generator))) return tried;
    tried.generated = false;
    tried.warnings = warningsIn(
      await carryOut({ command: await client.generate(tools, directory), directory }),
    );
    tried.generated = true;
    const { toolchain, compile, run } = client;
    if (toolchain === undefined || compile === undefined || run === undefined) return tried;
    if (!(await isHere(toolchain))) return tried;
    tried.compiled = false;
    for (const step of await compile(tools, directory)) await carryOut(step);
    tried.compiled = true;
    const tryAt = async (address: string, property: string) =>
      await runProgram(run(tools, directory), service, address, property).catch((error: Error) => {
        tried.problem ??= error.message;
        return error.message.split("\n");
      });
    const property = `GEN-${directory.split("-").at(-1)}`;
    const lines = await tryAt(service.address, property);
    tried.done = Object.fromEntries(DONE.map((word) => [word, lines.includes(word)])) as Tried["done"];
    const linesLater = await tryAt(later, `${property}-LATER`);
    tried.later = [...DONE, ...READ_OF_TOMORROW].every((word) => linesLater.includes(word));
  } catch (error) {
    tried.problem = (error as Error).message;
  }
  return tried;
}

/** Makes every client and tries it against a service of its own; `names`: these alone. */
export async function tryGeneratedClients(
  names: readonly string[],
  onTried: (tried: Tried) => void,
): Promise<Tried[]> {
  const tools = await installTools();
  const directory = await mkdtemp(join(tmpdir(), "bellhop-generated-clients-"));
  const service = await startTestService();
  const later = await startNextRelease(service.address);
  const all: Tried[] = [];
  try {
    for (const [index, client] of CLIENTS.entries()) {
      if (names.length > 0 && !names.includes(client.name)) continue;
      const tried = await tryClient(
        client,
        tools,
        service,
        later.address,
        join(directory, `client-${index}`),
      );
      onTried(tried);
      all.push(tried);
    }
  } finally {
    await later.stop();
    await service.stop();
    await rm(directory, { recursive: true });
  }
  return all;
}
