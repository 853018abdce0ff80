import type { TestDatabase } from "../support/database.ts";
import { Balancer } from "./balancer.ts";
import { BatchSource } from "./batch-source.ts";
import { explainStall } from "./explain-stall.ts";
import { Ledger } from "./ledger.ts";
import { type ManyNodesOptions, READY_MS_MAX } from "./many-nodes.ts";
import { type ClientCredentials, newClient, tokenOf } from "./new-token.ts";
import { Senders } from "./senders.ts";
import type { ServiceProcess } from "./service-process.ts";

/** Nodes on one database that are ready, behind a balancer, and all that a campaign needs to send to them. */
export interface LoadedNodes {
  readonly database: TestDatabase;
  readonly nodes: readonly ServiceProcess[];
  readonly first: ServiceProcess;
  readonly balancer: Balancer;
  readonly ledger: Ledger;
  readonly source: BatchSource;
  readonly client: ClientCredentials;
  readonly token: string;
  /** From here on they are under load, of this source or of one of its own. */
  startSenders(source?: Pick<BatchSource, "next">): Senders;
}

/**
 * Waits until nodes that were started are ready, and has a campaign use them. Removes the nodes and the database at the end; of one
 * that broke off the nodes and the database say before that why nothing goes on.
 */
export async function withLoadedNodes<Report>(
  database: TestDatabase,
  nodes: readonly ServiceProcess[],
  { seed, senders: count, progress }: Pick<ManyNodesOptions<string>, "seed" | "senders" | "progress">,
  use: (loaded: LoadedNodes) => Promise<Report>,
): Promise<Report> {
  const ledger = new Ledger();
  const balancer = new Balancer(nodes.map(({ address }) => address));
  let senders: Senders | undefined;
  try {
    for (const node of nodes) await node.untilReady(READY_MS_MAX);
    const [first] = nodes as [ServiceProcess];
    const client = await newClient(first);
    const token = await tokenOf(first.address, client);
    const source = new BatchSource(seed);
    const startSenders: LoadedNodes["startSenders"] = (from = source) => {
      const route = () => balancer.route();
      senders = new Senders({ route, token, source: from, ledger, seed, senders: count });
      return senders;
    };
    return await use({ database, nodes, first, balancer, ledger, source, client, token, startSenders });
  } catch (error) {
    for (const line of await explainStall(database.pool, nodes)) progress?.(line);
    throw error;
  } finally {
    senders?.abandon();
    await balancer.stop();
    for (const node of nodes) await node.remove();
    await database.drop();
  }
}
