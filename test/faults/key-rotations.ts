import { until } from "../support/until.ts";
import type { BatchSource } from "./batch-source.ts";
import type { Ledger } from "./ledger.ts";
import { type ClientCredentials, TokenRefused, tokenOf } from "./new-token.ts";
import { untilServes } from "./serves-again.ts";
import type { ServiceProcess } from "./service-process.ts";

/** As short as it may be. */
const ANNOUNCE = "5s";
const SIGNS_MS_MAX = 30_000;
const SERVES_MS_MAX = 60_000;

/** Rotations of the signing key under load; every node has to take the tokens that any of them signs with the new one. */
export class KeyRotations {
  count = 0;
  readonly #nodes: readonly ServiceProcess[];
  readonly #ledger: Ledger;
  readonly #source: BatchSource;
  readonly #client: () => ClientCredentials;

  /** `client`: whom tokens are asked for, with the secret that is good now; it is asked what became of its batches later. */
  constructor(
    nodes: readonly ServiceProcess[],
    ledger: Ledger,
    source: BatchSource,
    client: () => ClientCredentials,
  ) {
    this.#client = client;
    this.#nodes = nodes;
    this.#ledger = ledger;
    this.#source = source;
  }

  /** One rotation, by a command beside the first node, whether or not that runs now. */
  async one(): Promise<void> {
    const [first] = this.#nodes;
    if (first === undefined) return;
    const said = await first.command("key", "rotate", "--announce", ANNOUNCE, "--json");
    const { kid, activate_at } = JSON.parse(said) as { kid: string; activate_at: string };
    // A client may ask for few tokens, so none is asked for before.
    await until(() => Date.now() >= Date.parse(activate_at), SIGNS_MS_MAX);
    const token = await this.#tokenUnder(kid);
    for (const { address } of this.#nodes)
      await untilServes(address, { ledger: this.#ledger, token }, this.#source.next(), SERVES_MS_MAX);
    this.count += 1;
  }

  async #tokenUnder(kid: string): Promise<string> {
    const client = this.#client();
    let token = "";
    let last = "nothing was answered";
    const asked = until(async () => {
      for (const { address } of this.#nodes) {
        token = await askedFor(address, client);
        if (token !== "") last = `a token under ${kidOf(token)}`;
        if (token !== "" && kidOf(token) === kid) return true;
      }
      return false;
    }, SIGNS_MS_MAX);
    await asked.catch((error: unknown) => {
      throw new Error(`No token under the new signing key ${kid}; the last was ${last}.`, { cause: error });
    });
    return token;
  }
}

/** Empty where the node is away or about to leave. Throws when it refuses: who has a secret that is good always gets a token. */
async function askedFor(address: string, client: ClientCredentials): Promise<string> {
  return await tokenOf(address, client).catch((error: unknown) => {
    if (error instanceof TokenRefused && error.status !== 503) throw error;
    return "";
  });
}

/** The key that a token says it was signed with. */
function kidOf(token: string): string {
  const [header = ""] = token.split(".");
  return (JSON.parse(Buffer.from(header, "base64url").toString()) as { kid: string }).kid;
}
