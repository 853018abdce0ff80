import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { parse, parseAllDocuments } from "yaml";
import { readConfig } from "../../src/config.ts";
import { SETTINGS } from "../../src/config-table.ts";
import { connectionsOfNode } from "../../src/operations/doctor/server-checks.ts";
import { createSurveyMetrics } from "../../src/operations/metrics/survey.ts";
import { createMetrics } from "../../src/platform/telemetry/metrics.ts";
import { contextRules, environmentOf, lastOf, readDockerfile } from "./dockerfile.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
// Plain JavaScript, as it runs before any of our packages is there.
const { processEnvironment } = (await import(`${root}bin/process-environment.mjs`)) as {
  processEnvironment(root: string): Readonly<Record<string, string>>;
};
const read = (path: string): string => readFileSync(`${root}${path}`, "utf8");

// biome-ignore lint/suspicious/noExplicitAny: documents of others' forms, looked into here and there.
type Loose = any;

const stages = readDockerfile(read("Dockerfile"));
const compose: Loose = parse(read("compose.yaml"));
const manifests = globSync("deploy/kubernetes/**/*.yaml", { cwd: root }).sort();
const overlays = manifests.filter((path) => path.endsWith("kustomization.yaml"));
const objects: Loose[] = manifests
  .filter((path) => !overlays.includes(path))
  .flatMap((path) => parseAllDocuments(read(path)).map((document) => document.toJS()));
const ofKind = (kind: string): Loose[] => objects.filter((object) => object.kind === kind);
const nodes: [string, Loose][] = Object.entries(compose.services as Record<string, Loose>).filter(([name]) =>
  name.startsWith("node-"),
);
const deployments = ofKind("Deployment");
const containers: Loose[] = deployments.map((deployment) => deployment.spec.template.spec.containers[0]);

const labelsOf = (deployment: Loose): Record<string, string> => deployment.spec.template.metadata.labels;
const fits = (selector: Record<string, string>, labels: Record<string, string>) =>
  Object.entries(selector).every(([name, value]) => labels[name] === value);

describe("the image", () => {
  test("its process finds set what the launcher sets, for the place where the image has the tree", () => {
    const environment = environmentOf(stages);
    for (const [name, value] of Object.entries(processEnvironment(lastOf(stages, "WORKDIR"))))
      assert.equal(environment[name], value, name);
  });

  test("includes sources and documents of the checkout, but no tests, packages or data", () => {
    const { includes: isTaken } = contextRules(read(".dockerignore"));
    for (const path of [
      "src/main.ts",
      "package-lock.json",
      "docs/console/a.png",
      "packages/console/build.ts",
      "sql/migrations/0001-create-schema.sql",
    ])
      assert.ok(isTaken(path), path);
    for (const path of [
      ".git/config",
      "data/postgres-password",
      "node_modules/pg/package.json",
      "packages/console/node_modules/vite/x",
      "packages/console/dist/index.html",
      "src/config.test.ts",
      "test/apply/apply.test.ts",
      "deploy/compose/secrets/tls.pem",
      ".env",
    ])
      assert.ok(!isTaken(path), path);
  });
});

describe("the processes that run", () => {
  const settings = new Set<string>(SETTINGS.map(({ name }) => name));

  test("get only existing settings, directly or as files", () => {
    const given = [
      ...nodes.flatMap(([, node]) => Object.keys(node.environment)),
      ...ofKind("ConfigMap").flatMap(({ data }) => Object.keys(data)),
      ...containers.flatMap(({ env }) => env.map(({ name }: Loose) => name)),
      ...Object.keys(environmentOf(stages)).filter((name) => !(name in processEnvironment(root))),
    ];
    assert.ok(given.includes("DATABASE_URL_FILE"));
    assert.deepEqual(
      given.filter((name) => !settings.has(name.replace(/_FILE$/, ""))),
      [],
    );
  });

  test("is the image's own user, in a tree that it cannot write, without capabilities and with a bound of memory", () => {
    const [uid] = lastOf(stages, "USER").split(":");
    assert.equal(nodes.length, 3);
    for (const [name, node] of nodes) {
      assert.equal(node.user.split(":")[0], uid, name);
      assert.deepEqual([node.read_only, node.cap_drop], [true, ["ALL"]], name);
      assert.deepEqual(node.security_opt, ["no-new-privileges:true"], name);
      assert.match(node.mem_limit, /^\d+m$/, name);
    }
    for (const { spec } of deployments.map((deployment) => deployment.spec.template)) {
      const [container] = spec.containers;
      assert.deepEqual(
        [spec.securityContext.runAsNonRoot, String(spec.securityContext.runAsUser)],
        [true, uid],
      );
      assert.deepEqual(container.securityContext.capabilities.drop, ["ALL"]);
      assert.equal(container.securityContext.readOnlyRootFilesystem, true);
      assert.equal(container.securityContext.allowPrivilegeEscalation, false);
      assert.match(container.resources.limits.memory, /^\d+Mi$/);
    }
  });

  test("has liveness and readiness checks on its port", () => {
    const { PORT } = environmentOf(stages);
    assert.equal(lastOf(stages, "EXPOSE"), PORT);
    assert.match(read("deploy/compose/haproxy.cfg"), new RegExp(`server node-1 node-1:${PORT}`));
    for (const container of containers) {
      assert.equal(String(container.ports[0].containerPort), PORT);
      for (const probe of ["startupProbe", "livenessProbe"])
        assert.equal(container[probe].httpGet.path, "/healthz", probe);
      assert.equal(container.readinessProbe.httpGet.path, "/readyz");
    }
  });

  test("has a longer grace period than its drain", () => {
    for (const [name, node] of nodes) assert.ok(Number.parseInt(node.stop_grace_period, 10) > 10, name);
    for (const { spec } of deployments.map((deployment) => deployment.spec.template)) {
      const pauseSeconds = spec.containers[0].lifecycle.preStop.sleep.seconds;
      assert.ok(spec.terminationGracePeriodSeconds > 10 + pauseSeconds);
    }
  });

  test("trusts only the network of compose's proxy", () => {
    const [{ subnet }] = compose.networks.front.ipam.config;
    for (const [name, node] of nodes) assert.equal(node.environment.TRUSTED_PROXIES, subnet, name);
    assert.deepEqual(compose.services.postgres.networks, ["back"]);
    assert.match(read("deploy/compose/haproxy.cfg"), /set-header X-Forwarded-For %\[src\]/);
  });

  test("the proxy opens no tunnels", () => {
    assert.match(read("deploy/compose/haproxy.cfg"), /^ {2}http-request deny .* if METH_CONNECT$/m);
  });
});

test("the console is for operators' networks behind every proxy that is shown", () => {
  assert.match(
    read("deploy/compose/haproxy.cfg"),
    /http-request deny .* if \{ path_beg \/console \} !from_operators/,
  );
  for (const { metadata, spec } of ofKind("Ingress")) {
    const paths: string[] = spec.rules[0].http.paths.map(({ path }: Loose) => path);
    const limited = "nginx.ingress.kubernetes.io/whitelist-source-range" in metadata.annotations;
    assert.equal(limited, paths.includes("/console"), metadata.name);
  }
  const document = read("docs/deployment.md");
  const [nginx, caddy] = ["nginx", "caddyfile"].map(
    (language) => document.split(`\`\`\`${language}\n`)[1]?.split("```")[0] ?? "",
  );
  assert.match(nginx ?? "", /location \/console \{\s+allow [\s\S]*?deny all;/);
  assert.match(
    caddy ?? "",
    /@console \{\s+path \/console \/console\/\*\s+not remote_ip [\s\S]*?respond @console 404/,
  );
});

describe("a source address", () => {
  const haproxy = read("deploy/compose/haproxy.cfg");
  const defaults = readConfig({ DATABASE_URL: "postgresql://a/b" });
  const nginx = read("docs/deployment.md").split("```nginx\n")[1]?.split("```")[0] ?? "";

  test("is limited in connections and requests by every proxy that is shown, above the rate of one client", () => {
    assert.match(haproxy, /tcp-request connection track-sc0 src,ipmask\(32,64\) table sources/);
    assert.match(haproxy, /tcp-request connection reject if \{ sc0_conn_cur\(sources\) gt \d+ \}/);
    assert.match(haproxy, /sc0_conn_rate\(sources\) gt \d+/);
    const perTenSeconds = Number(
      /return status 429 .* sc0_http_req_rate\(sources\) gt (\d+)/.exec(haproxy)?.[1],
    );
    const rates = [perTenSeconds / 10, Number(/rate=(\d+)r\/s/.exec(nginx)?.[1])];
    for (const { metadata } of ofKind("Ingress")) {
      const of = (name: string) => Number(metadata.annotations[`nginx.ingress.kubernetes.io/${name}`]);
      assert.ok(of("limit-connections") > 0, metadata.name);
      rates.push(of("limit-rps"));
    }
    assert.match(nginx, /limit_conn connections \d+;[\s\S]*limit_req zone=requests /);
    assert.equal(rates.length, 4);
    for (const rate of rates) assert.ok(rate >= 2 * defaults.requestRate, String(rates));
  });

  test("is refused with the error object of the service", () => {
    const { status, error, exception } = JSON.parse(
      read("deploy/compose/429.json").replace(/%\[date.*?\)\]/, "2026-06-01T08:30:00Z"),
    );
    assert.deepEqual(
      [status, error, exception],
      [429, "Too Many Requests", "bellhop.http.RateLimitExceeded"],
    );
    assert.ok(
      compose.services.proxy.volumes.some((volume: string) =>
        volume.startsWith("./deploy/compose/429.json:"),
      ),
    );
    assert.ok(haproxy.includes("lf-file /usr/local/etc/haproxy/429.json"));
  });

  test("has a bounded time for headers and bodies, in which the service answers first", () => {
    const timeout = (name: string) => 1000 * Number(new RegExp(`timeout ${name} (\\d+)s`).exec(haproxy)?.[1]);
    assert.ok(timeout("http-request") > defaults.limits.headersTimeoutMs);
    assert.ok(timeout("server") > defaults.limits.requestTimeoutMs);
    assert.ok(timeout("client") <= 30_000);
    for (const name of ["client_header_timeout", "client_body_timeout"])
      assert.match(nginx, new RegExp(`${name} \\d+s;`));
    for (const name of ["client-header-timeout", "client-body-timeout"])
      assert.match(read("docs/deployment.md"), new RegExp(`  ${name}: "\\d+"`));
  });
});

describe("images", () => {
  test("of others have a tag and can be set by digest", () => {
    const images = Object.values(compose.services as Record<string, Loose>).map(({ image }) => image);
    const settable = images.filter((image: string) => image !== "bellhop:local");
    const documented = read("docs/deployment.md");
    assert.equal(settable.length, 4);
    for (const image of [...settable, compose.services["node-1"].build.args.NODE_IMAGE]) {
      const [, name, value] = /^\$\{(\w+)_IMAGE:-(\S+:\S+)\}$/.exec(image) ?? [];
      assert.ok(documented.includes(` ${name}=${value}`), image);
    }
    assert.ok(
      read("Dockerfile").includes(
        `ARG NODE_IMAGE=${compose.services["node-1"].build.args.NODE_IMAGE.slice(14, -1)}\n`,
      ),
    );
  });

  test("of ours are set by digest in every overlay", () => {
    const [base, ...others] = overlays;
    assert.deepEqual([base, others.length], ["deploy/kubernetes/base/kustomization.yaml", 2]);
    const own = containers.map(({ image }) => image.replace(/:\w+$/, ""));
    for (const path of others) {
      const [image] = parse(read(path)).images;
      assert.deepEqual([...new Set(own)], [image.name], path);
      assert.match(image.digest, /^sha256:[0-9a-f]{64}$/);
    }
  });
});

test("every node reaches public addresses by https, for webhooks and the identity provider, and mail servers", () => {
  for (const wanted of [443, 465, 587, 25]) {
    const policies = ofKind("NetworkPolicy").filter(({ spec }) =>
      spec.egress?.some(
        ({ ports, to }: Loose) =>
          to[0].ipBlock?.cidr === "0.0.0.0/0" && ports.some(({ port }: Loose) => port === wanted),
      ),
    );
    for (const labels of deployments.map(labelsOf))
      assert.ok(
        policies.some(({ spec }) => fits(spec.podSelector.matchLabels, labels)),
        `${wanted} ${JSON.stringify(labels)}`,
      );
  }
  for (const path of overlays)
    for (const { target } of parse(read(path)).patches ?? [])
      assert.notEqual(target.kind, "NetworkPolicy", path);
});

describe("what refers to another part finds it", () => {
  test("selectors, targets, secrets and settings", () => {
    const labels = deployments.map(labelsOf);
    const selectors: Loose[] = [
      ...ofKind("Service").map(({ spec }) => spec.selector),
      ...ofKind("PodDisruptionBudget").map(({ spec }) => spec.selector.matchLabels),
      ...ofKind("NetworkPolicy").map(({ spec }) => spec.podSelector.matchLabels),
      ...deployments.map(({ spec }) => spec.selector.matchLabels),
    ];
    for (const selector of selectors)
      assert.ok(
        labels.some((one) => fits(selector, one)),
        JSON.stringify(selector),
      );
    const names = new Set(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`));
    const wanted = [
      ...ofKind("HorizontalPodAutoscaler").map(({ spec }) => `Deployment ${spec.scaleTargetRef.name}`),
      ...ofKind("Ingress").flatMap(({ spec }) =>
        spec.rules[0].http.paths.map(({ backend }: Loose) => `Service ${backend.service.name}`),
      ),
      ...containers.flatMap(({ envFrom }) =>
        envFrom.map(({ configMapRef }: Loose) => `ConfigMap ${configMapRef.name}`),
      ),
      ...deployments.flatMap(({ spec }) =>
        spec.template.spec.volumes.map(({ secret }: Loose) => `Secret ${secret.secretName}`),
      ),
    ];
    assert.deepEqual(
      wanted.filter((one) => !names.has(one)),
      [],
    );
    for (const { metadata } of objects.filter(({ kind }) => kind !== "Namespace"))
      assert.equal(metadata.namespace, "bellhop");
  });

  test("the documented steps for Kubernetes create the namespace, then every Secret, then the rest", () => {
    const steps = [...read("docs/deployment.md").matchAll(/```sh\n([\s\S]*?)```/g)]
      .map(([, commands = ""]) => commands)
      .find((commands) => commands.includes("kubectl apply -k"));
    const order = [
      "kubectl apply -f deploy/kubernetes/base/namespace.yaml",
      ...ofKind("Secret").map(({ metadata }) => `kubectl create secret generic ${metadata.name} -n bellhop`),
      ...new Set(
        ofKind("Ingress").map(({ spec }) => `kubectl create secret tls ${spec.tls[0].secretName} -n bellhop`),
      ),
      "kubectl apply -k",
    ].map((command) => steps?.indexOf(command) ?? -1);
    assert.deepEqual(
      order,
      order.toSorted((left, right) => left - right),
    );
    assert.ok(!order.includes(-1), String(order));
  });

  test("a secret has exactly the files that settings name", () => {
    const [secret] = ofKind("Secret");
    const [{ data }] = ofKind("ConfigMap");
    const files = Object.entries(data as Record<string, string>).filter(([name]) => name.endsWith("_FILE"));
    for (const [name, file] of files) assert.ok(file.split("/").at(-1) ?? "" in secret.stringData, name);
    assert.equal(files.length, Object.keys(secret.stringData).length);
    for (const [, node] of nodes)
      for (const [name, file] of Object.entries(node.environment as Record<string, string>))
        if (name.endsWith("_FILE")) assert.ok(node.secrets.includes(file.split("/").at(-1)), name);
  });

  test("each manifest is in a kustomization, which names only existing ones and patches existing fields", () => {
    const loaded = overlays.flatMap((path) =>
      (parse(read(path)).resources as string[]).map((resource) => join(dirname(path), resource)),
    );
    const folders = ["deploy/kubernetes/base"];
    const files = manifests.filter(
      (path) => !overlays.includes(path) && !path.endsWith("secrets.example.yaml"),
    );
    assert.deepEqual([...new Set(loaded)].sort(), [...folders, ...files].sort());
    const names = new Set(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`));
    const patched = overlays.flatMap((path) => (parse(read(path)).patches ?? []) as Loose[]);
    assert.equal(patched.length, 1);
    for (const { target } of patched) assert.ok(names.has(`${target.kind} ${target.name}`), target.name);
  });

  test("as many connections of the database are stated as nodes of these settings hold", () => {
    const held = (environment: Record<string, string>) =>
      connectionsOfNode(readConfig({ DATABASE_URL: "postgresql://a/b", ...environment }));
    const ofPods = Object.fromEntries(
      deployments.map(({ metadata, spec }): [string, Record<string, string>] => {
        const { env } = spec.template.spec.containers[0];
        return [metadata.name, Object.fromEntries(env.map(({ name, value }: Loose) => [name, value]))];
      }),
    );
    const front = ofPods["bellhop-front"] ?? {};
    const counts = {
      front: held({ ...front, ROLE: "accept,read" }),
      apply: held({ ...ofPods["bellhop-apply"], ROLE: "apply" }),
      single: held(front),
    };
    const { front: one, apply, single } = counts;
    const said = `a front pod uses up to ${one} database connections, an apply pod up to ${apply}, a single one ${single}`;
    assert.ok(read("docs/deployment.md").replaceAll(/\s+/g, " ").includes(said), said);
    const [, { environment }] = nodes[0] ?? [];
    const { HTTP_THREADS, APPLY_WRITERS } = environment;
    const ofNode = held({ HTTP_THREADS, APPLY_WRITERS });
    assert.ok(read("compose.yaml").includes(`holds up to ${ofNode} connections`), String(ofNode));
    const most = /max_connections=(\d+)/.exec(compose.services.postgres.command.join(" "))?.[1];
    // Three are PostgreSQL's own for superusers, and operators' commands want some.
    assert.ok(nodes.length * ofNode + 3 + 10 <= Number(most));
  });

  test("Prometheus of compose scrapes every node, under the name that the alert rules expect, and Grafana has its dashboard", () => {
    const { scrape_configs: jobs, global, rule_files: rules } = parse(read("deploy/compose/prometheus.yaml"));
    assert.deepEqual(
      jobs.map(({ job_name: name, static_configs: [{ targets }] }: Loose) => [name, targets]),
      [["bellhop", nodes.map(([name]) => `${name}:${environmentOf(stages)["PORT"]}`)]],
    );
    const { prometheus, grafana } = compose.services;
    for (const [, node] of nodes) assert.ok(node.networks.includes("metrics"));
    assert.deepEqual([prometheus.networks, grafana.networks], [["metrics"], ["metrics"]]);
    assert.equal(jobs[0].authorization.credentials_file, "/run/secrets/metrics-token");
    assert.ok(prometheus.secrets.includes("metrics-token") && "bellhop_url" in global.external_labels);
    const mounted = new Map<string, string>(
      [...prometheus.volumes, ...grafana.volumes].map((volume: string) => {
        const [from = "", to = ""] = volume.split(":");
        return [to, from];
      }),
    );
    for (const from of mounted.values())
      if (from.startsWith("./")) assert.equal(globSync(from, { cwd: root }).length, 1, from);
    assert.equal(mounted.get(join("/etc/prometheus", rules[0])), "./deploy/prometheus/alerts.yaml");
    const [{ options }] = parse(read("deploy/compose/grafana-dashboards.yaml")).providers;
    assert.equal(mounted.get(options.path), "./deploy/grafana");
    assert.equal(
      grafana.environment.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH,
      `${options.path}/bellhop.json`,
    );
  });

  test("the metric that the number of appliers follows is one of the service's", () => {
    const ours = new Set(
      [createMetrics(), createSurveyMetrics()]
        .flatMap(({ registry }) => registry.getMetricsAsArray())
        .map(({ name }) => name),
    );
    const followed = ofKind("HorizontalPodAutoscaler").flatMap(({ spec }) =>
      spec.metrics.flatMap(({ pods }: Loose) => (pods === undefined ? [] : [pods.metric.name])),
    );
    assert.equal(followed.length, 1);
    for (const name of followed) assert.ok(ours.has(name), name);
  });
});
