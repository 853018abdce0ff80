import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { readConfig } from "../../src/config.ts";
import { environmentOf, lastOf, readDockerfile } from "./dockerfile.ts";
import { type KubernetesObject, OVERLAYS, readOverlay } from "./overlays.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string): string => readFileSync(`${root}${path}`, "utf8");
const MIB = 1_048_576;

/** What holds of a node wherever it is deployed. */
interface Facts {
  readonly image: string;
  readonly user: string;
  readonly dropped: readonly string[];
  readonly isReadOnly: boolean;
  readonly gainsPrivileges: boolean;
  readonly memoryMib: number;
  readonly drainSeconds: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  readonly role: string;
}

/** What holds of the proxy in front. */
interface ProxyFacts {
  readonly connections: number;
  readonly requestsPerSecond: number;
  readonly responseSeconds: number;
}

const stages = readDockerfile(read("Dockerfile"));
const haproxy = read("deploy/compose/haproxy.cfg");
const compose = parse(read("compose.yaml"));
const secretsOf = (environment: Readonly<Record<string, string>>) =>
  Object.entries(environment)
    .flatMap(([name, path]) => (name.endsWith("_FILE") ? [`${name} ${path.split("/").at(-1)}`] : []))
    .sort();

function ofCompose(): Facts {
  const node = compose.services["node-1"];
  return {
    image: node.image,
    user: node.user,
    dropped: node.cap_drop,
    isReadOnly: node.read_only,
    gainsPrivileges: !node.security_opt.includes("no-new-privileges:true"),
    memoryMib: Number.parseInt(node.mem_limit, 10),
    drainSeconds: Number.parseInt(node.stop_grace_period, 10),
    environment: node.environment,
    secrets: secretsOf(node.environment),
    role: "",
  };
}

function ofDeployments(objects: readonly KubernetesObject[]): readonly Facts[] {
  const settings = objects.find(({ kind }) => kind === "ConfigMap").data;
  return objects
    .filter(({ kind }) => kind === "Deployment")
    .map(
      ({
        spec: {
          template: { spec },
        },
      }) => {
        const [container] = spec.containers;
        const own = Object.fromEntries(
          container.env.map(({ name, value }: { name: string; value: string }) => [name, value]),
        );
        const environment = { ...settings, ...own };
        return {
          image: container.image,
          user: `${spec.securityContext.runAsUser}:${spec.securityContext.runAsGroup}`,
          dropped: container.securityContext.capabilities.drop,
          isReadOnly: container.securityContext.readOnlyRootFilesystem,
          gainsPrivileges: container.securityContext.allowPrivilegeEscalation,
          memoryMib: Number.parseInt(container.resources.limits.memory, 10),
          drainSeconds: spec.terminationGracePeriodSeconds - container.lifecycle.preStop.sleep.seconds,
          environment,
          secrets: secretsOf(environment),
          role: container.args[container.args.indexOf("--role") + 1] ?? "",
        };
      },
    );
}

/** As docs/deployment.md has it: 120 MB, 45 MB per thread, and the bodies in flight. */
function memoryNeeded({ environment, role }: Facts): number {
  const { limits } = readConfig({ DATABASE_URL: "postgresql://a/b" });
  const writers = role === "accept,read" ? 0 : Number(environment["APPLY_WRITERS"]);
  return 120 + 45 * (Number(environment["HTTP_THREADS"]) + writers) + limits.bodiesInFlightBytesMax / MIB;
}

const numberIn = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1]);

const ofHaproxy: ProxyFacts = {
  connections: numberIn(haproxy, /sc0_conn_cur\(sources\) gt (\d+)/),
  requestsPerSecond: numberIn(haproxy, /sc0_http_req_rate\(sources\) gt (\d+)/) / 10,
  responseSeconds: numberIn(haproxy, /timeout server (\d+)s/),
};

function ofIngress({ metadata: { annotations } }: KubernetesObject): ProxyFacts {
  const of = (name: string) => Number(annotations[`nginx.ingress.kubernetes.io/${name}`]);
  return {
    connections: of("limit-connections"),
    requestsPerSecond: of("limit-rps"),
    responseSeconds: of("proxy-read-timeout"),
  };
}

for (const name of OVERLAYS)
  describe(`the overlay ${name} and compose`, () => {
    const objects = readOverlay(name);
    const ofKind = (kind: string) => objects.filter((object) => object.kind === kind);
    const nodes = ofDeployments(objects);
    const reference = ofCompose();

    test("run a node as the same user, without capabilities, in a file system that it cannot write", () => {
      assert.equal(reference.user, lastOf(stages, "USER"));
      for (const { user, dropped, isReadOnly, gainsPrivileges } of [reference, ...nodes])
        assert.deepEqual(
          { user, dropped, isReadOnly, gainsPrivileges },
          { user: reference.user, dropped: ["ALL"], isReadOnly: true, gainsPrivileges: false },
        );
    });

    test("give it the memory that it needs and the time for its drain", () => {
      for (const node of [reference, ...nodes]) {
        assert.ok(node.memoryMib >= memoryNeeded(node), `${node.memoryMib} of ${memoryNeeded(node)} MiB`);
        assert.ok(node.drainSeconds >= reference.drainSeconds, String(node.drainSeconds));
      }
    });

    test("give it the same settings and secrets", () => {
      for (const { environment, secrets } of nodes) {
        assert.deepEqual(Object.keys(environment).sort(), Object.keys(reference.environment).sort());
        assert.deepEqual(secrets, reference.secrets);
      }
    });

    test("use one port, and the same checks of life and readiness", () => {
      const { PORT } = environmentOf(stages);
      assert.match(haproxy, new RegExp(`server node-1 node-1:${PORT}\\n`));
      assert.match(haproxy, /GET uri \/readyz /);
      // One refusal counts, a late response does not: with a short patience all busy nodes would be taken out at once.
      assert.match(haproxy, /default-server check inter 1s fall 1 /);
      assert.equal(numberIn(haproxy, /timeout check (\d+)s/), 5);
      assert.match(lastOf(stages, "HEALTHCHECK"), /"bin\/ask-health.mjs"\]$/);
      for (const {
        spec: {
          template: { spec },
        },
      } of ofKind("Deployment")) {
        const [{ ports, livenessProbe, startupProbe, readinessProbe }] = spec.containers;
        assert.equal(String(ports[0].containerPort), PORT);
        assert.equal(readinessProbe.timeoutSeconds, 5);
        const paths = [livenessProbe, startupProbe, readinessProbe].map(({ httpGet }) => [
          httpGet.path,
          httpGet.port,
        ]);
        assert.deepEqual(paths, [
          ["/healthz", ports[0].name],
          ["/healthz", ports[0].name],
          ["/readyz", ports[0].name],
        ]);
      }
      for (const { spec } of ofKind("Service")) assert.equal(spec.ports[0].targetPort, "http");
      for (const { spec } of ofKind("NetworkPolicy"))
        for (const { ports } of spec.ingress ?? []) assert.deepEqual(ports, [{ port: Number(PORT) }]);
    });

    test("let a proxy through that limits a source address alike, and hides the metrics", () => {
      const [main, console] = ["bellhop", "bellhop-console"].map((ingress) =>
        ofKind("Ingress").find(({ metadata }) => metadata.name === ingress),
      );
      assert.deepEqual(ofIngress(main), ofHaproxy);
      const { connections, requestsPerSecond } = ofIngress(console);
      assert.deepEqual(
        { connections, requestsPerSecond },
        { connections: ofHaproxy.connections, requestsPerSecond: ofHaproxy.requestsPerSecond },
      );
      assert.match(haproxy, /deny deny_status 404 if \{ path \/metrics \}/);
      for (const { spec } of [main, console])
        for (const { path, pathType } of spec.rules[0].http.paths)
          assert.ok(path !== "/metrics" && (path !== "/" || pathType === "Exact"), path);
      const { limits } = readConfig({ DATABASE_URL: "postgresql://a/b" });
      assert.equal(
        main.metadata.annotations["nginx.ingress.kubernetes.io/proxy-body-size"],
        `${limits.bodyBytesMax / MIB}m`,
      );
    });

    test("let every node reach the database, and public addresses by https and mail, and nothing else of a network", () => {
      const reached = ofKind("NetworkPolicy").flatMap(({ spec }) =>
        (spec.egress ?? []).flatMap(({ ports }: KubernetesObject) =>
          ports.map(({ port }: KubernetesObject) => port),
        ),
      );
      assert.deepEqual([...new Set(reached)].sort(), [25, 443, 465, 53, 5432, 587]);
      const everyNode = { "app.kubernetes.io/name": "bellhop" };
      for (const { spec, metadata } of ofKind("NetworkPolicy"))
        if (spec.policyTypes.includes("Egress"))
          assert.deepEqual(spec.podSelector.matchLabels, everyNode, metadata.name);
    });

    test("take the image by digest", () => {
      for (const { image } of nodes) assert.match(image, /^registry\.example\/bellhop@sha256:[0-9a-f]{64}$/);
    });
  });
