import { randomBytes } from "node:crypto";
import { registerPayloadKeys } from "../../src/ingest/log/payload-keys.ts";
import { createSecretCipher } from "../../src/platform/crypto/secret-cipher.ts";
import { createTestDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";
import type { Balancer } from "./balancer.ts";
import { KeyRotations } from "./key-rotations.ts";
import { withLoadedNodes } from "./loaded-nodes.ts";
import {
  breakAtIntervals,
  type ManyNodesOptions,
  type ManyNodesReport,
  READY_MS_MAX,
  reportAtRest,
  untilShared,
} from "./many-nodes.ts";
import { ServiceProcess } from "./service-process.ts";
import { TokenAskers } from "./token-askers.ts";

/** Everything of an installation that can be replaced while it runs. */
export const ROTATIONS = [
  "signing-key",
  "client-secret",
  "pepper",
  "payload-key",
  "key-encryption-key",
] as const;
export type Rotation = (typeof ROTATIONS)[number];

export interface RotationsReport extends ManyNodesReport {
  readonly rotations: Readonly<Record<string, number>>;
  readonly tokens: number;
}

const ASKERS = 3;
/** How long a secret is good after the next one was made: until then it hangs on the pepper. */
const OVERLAP = "20s";
const newKey = () => randomBytes(32).toString("base64");

interface Parts {
  readonly nodes: readonly ServiceProcess[];
  /** Settings of each node at its next start. */
  readonly environments: readonly Record<string, string>[];
  readonly balancer: Balancer;
  readonly askers: TokenAskers;
  readonly keys: KeyRotations;
  readonly progress: (line: string) => void;
}

/** Replaces one thing after another, in turn or always the same. */
class Rotator {
  readonly counts: Record<string, number> = {};
  readonly #parts: Parts;
  readonly #kinds: readonly Rotation[];
  #done = 0;

  constructor(parts: Parts, only: Rotation | undefined) {
    this.#parts = parts;
    this.#kinds = only === undefined ? ROTATIONS : [only];
  }

  async one(): Promise<void> {
    const kind = this.#kinds[this.#done % this.#kinds.length] as Rotation;
    this.#done += 1;
    const startedAt = performance.now();
    await this.#rotate(kind);
    this.counts[kind] = (this.counts[kind] ?? 0) + 1;
    this.#parts.progress(`${kind} replaced after ${Math.round(performance.now() - startedAt)} ms`);
  }

  #rotate(kind: Rotation): Promise<void> {
    switch (kind) {
      case "signing-key":
        return this.#parts.keys.one();
      case "client-secret":
        return this.#rotateSecret();
      case "pepper":
        return this.#rotatePepper();
      case "payload-key":
        return this.#command("payload-key", "rotate").then(() => undefined);
      case "key-encryption-key":
        return this.#rotateKeyEncryptionKey();
    }
  }

  async #command(...args: readonly string[]): Promise<Record<string, unknown>> {
    const [first] = this.#parts.nodes;
    return JSON.parse((await first?.command(...args, "--json")) ?? "{}") as Record<string, unknown>;
  }

  async #rotateSecret(): Promise<void> {
    const { askers } = this.#parts;
    const rotated = await this.#command(
      ...["client", "rotate-secret", askers.client.client_id, "--overlap", OVERLAP],
    );
    askers.takeSecret(String(rotated["client_secret"]));
  }

  /** Until the former one could be deleted, because every secret has come by. */
  async #rotatePepper(): Promise<void> {
    await this.#command("pepper", "rotate");
    await until(
      () =>
        this.#command("pepper", "retire").then(
          () => true,
          () => false,
        ),
      READY_MS_MAX,
    );
  }

  /** Node by node, each with the former key beside the new one; over when nothing lies under the former one any more. */
  async #rotateKeyEncryptionKey(): Promise<void> {
    const { nodes, environments, balancer } = this.#parts;
    const key = newKey();
    for (const [at, node] of nodes.entries()) {
      const environment = environments[at] as Record<string, string>;
      environment["KEY_ENCRYPTION_KEY_PREVIOUS"] = environment["KEY_ENCRYPTION_KEY"] ?? "";
      environment["KEY_ENCRYPTION_KEY"] = key;
      await node.end("SIGTERM");
      node.start();
      await node.untilReady(READY_MS_MAX);
      await until(() => balancer.isRouted(node.address), READY_MS_MAX);
    }
    await until(async () => (await this.#command("key", "reseal"))["resealed"] === 0, READY_MS_MAX);
  }
}

/** Runs nodes under load and replaces everything that can be, one after the other; no request may fail. */
export async function runRotations(options: ManyNodesOptions<Rotation>): Promise<RotationsReport> {
  const startedAt = performance.now();
  const { progress = () => undefined } = options;
  const database = await createTestDatabase();
  const environments = Array.from({ length: options.nodes }, () => ({
    DATABASE_URL: database.url,
    HTTP_THREADS: "1",
    APPLY_WRITERS: "1",
    ENCRYPT_PAYLOADS: "yes",
    TOKEN_BURST: "1000000",
  })) as Record<string, string>[];
  const key = newKey();
  for (const environment of environments) environment["KEY_ENCRYPTION_KEY"] = key;
  const nodes = await Promise.all(environments.map((environment) => ServiceProcess.prepare({ environment })));
  for (const node of nodes) node.start();
  let closePayloads = () => {};
  try {
    return await withLoadedNodes(database, nodes, options, async (loaded) => {
      const { balancer, ledger, source, client, token } = loaded;
      const senders = loaded.startSenders();
      const askers = new TokenAskers(client, () => balancer.route(), ASKERS);
      try {
        await untilShared(database.pool, options.nodes);
        const keys = new KeyRotations(nodes, ledger, source, () => askers.client);
        const rotator = new Rotator({ nodes, environments, balancer, askers, keys, progress }, options.only);
        const lostOnTheWay = await breakAtIntervals(options, database, ledger, () => rotator.one());
        await askers.stop();
        await senders.stop();
        // What is checked is read by this process, with the key that the nodes have come to.
        const cipher = createSecretCipher(environments[0]?.["KEY_ENCRYPTION_KEY"]);
        closePayloads = registerPayloadKeys(database.pool, cipher);
        const report = await reportAtRest(database, nodes, token, ledger, { startedAt, lostOnTheWay });
        const failed = Object.entries(ledger.seen).filter(([what]) => what !== "202");
        return {
          ...report,
          rotations: rotator.counts,
          tokens: askers.taken,
          problems: [
            ...report.problems,
            ...askers.problems,
            ...(failed.length === 0 ? [] : [`while something was replaced: ${JSON.stringify(failed)}`]),
          ],
        };
      } finally {
        await askers.stop();
      }
    });
  } finally {
    closePayloads();
  }
}
