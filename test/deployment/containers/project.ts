import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { parse, stringify } from "yaml";
import { until } from "../../support/until.ts";
import type { Engine } from "./engine.ts";
import type { StandIns } from "./stand-ins.ts";

const run = promisify(execFile);
const NAME = "bellhop";
const SECRETS = "deploy/compose/secrets";
const HEALTHY_MS_MAX = 300_000;

/** What `docker inspect` says of a container, as far as it is asked here. */
export interface Inspected {
  readonly Id: string;
  readonly Config: { readonly User: string };
  readonly HostConfig: {
    readonly ReadonlyRootfs: boolean;
    readonly CapDrop: readonly string[] | null;
    readonly Memory: number;
    readonly PidsLimit: number;
    readonly SecurityOpt: readonly string[] | null;
  };
  readonly State: {
    readonly Pid: number;
    readonly ExitCode: number;
    readonly OOMKilled: boolean;
    readonly Status: string;
    readonly Health?: { readonly Status: string };
  };
}

/** compose.yaml of a copy of the checkout, with the profile observability, driven by an installed Compose. */
export class Project {
  readonly #engine: Engine;
  readonly #compose: readonly string[];
  readonly folder: string;
  readonly certificate: string;
  readonly #environment: Record<string, string>;

  private constructor(
    engine: Engine,
    compose: readonly string[],
    folder: string,
    images: StandIns,
    certificate: string,
  ) {
    this.#engine = engine;
    this.#compose = compose;
    this.folder = folder;
    this.certificate = certificate;
    this.#environment = { ...images, BASE_URL: "https://localhost" };
  }

  /** Copies what git knows of the checkout, and creates the secrets as docs/deployment.md does. */
  static async create(engine: Engine, checkout: string, folder: string, images: StandIns): Promise<Project> {
    await copyCheckout(checkout, folder);
    const certificate = await createSecrets(join(folder, SECRETS));
    const compose = ["--profile", "observability", "--project-name", NAME];
    const isPlugin = await engine.docker("compose", "version").then(
      () => true,
      () => false,
    );
    if (isPlugin) return new Project(engine, ["docker", "compose", ...compose], folder, images, certificate);
    // Debian's older Compose refuses the name in the file.
    const { name: _, ...rest } = parse(await readFile(join(folder, "compose.yaml"), "utf8"));
    await writeFile(join(folder, "compose.yaml"), stringify(rest));
    return new Project(engine, ["docker-compose", ...compose], folder, images, certificate);
  }

  async compose(...args: string[]): Promise<string> {
    return await this.#engine.run([...this.#compose, ...args], { cwd: this.folder, env: this.#environment });
  }

  async inspect(service: string): Promise<Inspected> {
    const labels = [`project=${NAME}`, `service=${service}`].flatMap((label) => [
      "--filter",
      `label=com.docker.compose.${label}`,
    ]);
    const [id = ""] = (await this.#engine.docker("ps", "--all", "--quiet", ...labels)).split("\n");
    const [inspected] = JSON.parse(await this.#engine.docker("inspect", id)) as [Inspected];
    return inspected;
  }

  async isHealthy(service: string): Promise<boolean> {
    const { State } = await this.inspect(service);
    return State.Health === undefined ? State.Status === "running" : State.Health.Status === "healthy";
  }

  async untilHealthy(services: readonly string[]): Promise<void> {
    // Slower than other waits: each question starts a program.
    for (const service of services)
      await until(async () => (await this.isHealthy(service)) || (await delay(500, false)), HEALTHY_MS_MAX);
  }

  /** Runs a program in a running container. */
  async exec(service: string, ...command: string[]): Promise<string> {
    const { Id } = await this.inspect(service);
    return await this.#engine.docker("exec", Id, ...command);
  }

  async command(...args: string[]): Promise<Record<string, unknown>> {
    return JSON.parse(await this.exec("node-1", "node", "src/main.ts", ...args, "--json"));
  }

  async isReady(service: string): Promise<boolean> {
    return await this.exec(service, "node", "bin/ask-health.mjs", "/readyz").then(
      () => true,
      () => false,
    );
  }
}

async function copyCheckout(checkout: string, folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  const { stdout } = await run(
    "git",
    ["-C", checkout, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
    {
      maxBuffer: 16 * 1_048_576,
    },
  );
  for (const path of stdout.split("\0").filter((name) => name !== "")) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await cp(join(checkout, path), join(folder, path)).catch(() => undefined);
  }
}

async function createSecrets(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const password = randomBytes(24).toString("hex");
  const contents = {
    "postgres-password": randomBytes(24).toString("hex"),
    "database-password": password,
    "database-url": `postgresql://bellhop:${password}@postgres:5432/bellhop`,
    "key-encryption-key": randomBytes(32).toString("base64"),
    "metrics-token": randomBytes(24).toString("hex"),
    "grafana-password": randomBytes(24).toString("hex"),
  };
  for (const [name, value] of Object.entries(contents))
    await writeFile(join(folder, name), `${value}\n`, { mode: 0o644 });
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  const files = ["-keyout", join(folder, "key.pem"), "-out", join(folder, "cert.pem")];
  await run("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", ...names, ...files]);
  const certificate = await readFile(join(folder, "cert.pem"), "utf8");
  await writeFile(join(folder, "tls.pem"), certificate + (await readFile(join(folder, "key.pem"), "utf8")), {
    mode: 0o644,
  });
  return certificate;
}
