/**
 * `npm run campaign -- NAME …`: what is too long or too demanding for `npm test`. Without a name, the table of campaigns with about how
 * long each takes on two cores; `NAME --help` has its options. Exit code 1 on failure, 77 if unsupported on this machine.
 */

import { containersCampaign } from "../test/deployment/containers/campaign.ts";
import { overlaysCampaign } from "../test/deployment/overlays-campaign.ts";
import { collectionsCampaign } from "../test/documentation/collections-campaign.ts";
import { NotHere } from "../test/faults/campaign-command.ts";
import { alertsCampaign } from "../test/operations/alerts-campaign.ts";

interface Campaign {
  readonly what: string;
  readonly takes: string;
  /** A command of its own, or a function that returns whether all held. */
  readonly run: string | ((args: string[]) => Promise<boolean>);
}

const CAMPAIGNS: Readonly<Record<string, Campaign>> = {
  alerts: {
    what: "each alert rule fires by its fault and is quiet otherwise (promtool)",
    takes: "1 minute",
    run: alertsCampaign,
  },
  collections: {
    what: "the Postman collection and the Bruno folder by the vendors' own programs, from npm",
    takes: "3 minutes",
    run: collectionsCampaign,
  },
  containers: {
    what: "the image and compose.yaml with a container engine: hardening, drain, rolling restart under load",
    takes: "10 minutes",
    run: containersCampaign,
  },
  deployment: {
    what: "the Dockerfile's instructions and compose.yaml's constraints without a container engine",
    takes: "2 minutes",
    run: "./try-deployment.ts",
  },
  overlays: {
    what: "the Kubernetes overlays, built and validated",
    takes: "1 minute",
    run: overlaysCampaign,
  },
  "any-order": {
    what: "one workload in many random orders ends in one state",
    takes: "20 minutes for 100 orders",
    run: "./any-order.ts",
  },
  simulation: {
    what: "the protocol of acceptance and apply under simulated faults, a world a seed",
    takes: "1 minute for 1,000 seeds",
    run: "../test/simulation/simulate-protocol.ts",
  },
  "figure-sets": {
    what: "random shares, moves and cancellations against the naive model of docs/figures.md",
    takes: "10 minutes for 100,000 sets",
    run: "./figure-sets.ts",
  },
  "judge-findings": {
    what: "how often reconciliation lists planted causes first",
    takes: "3 minutes",
    run: "./judge-findings.ts",
  },
  "real-feed": {
    what: "real bookings pushed as a feed; on the books, pickup and pace equal the data",
    takes: "10 minutes",
    run: "./real-feed.ts",
  },
  "hostile-json": {
    what: "malformed and unusual JSON over HTTP",
    takes: "1 minute",
    run: "./hostile-json.ts",
  },
  schemathesis: {
    what: "Schemathesis over the OpenAPI document",
    takes: "15 minutes",
    run: "./hostile-schemathesis.ts",
  },
  "credential-timing": {
    what: "whether the token endpoint's time shows which client ids exist",
    takes: "2 minutes",
    run: "./credential-timing.ts",
  },
  noisy: {
    what: "what one misbehaving partner does to three others",
    takes: "12 minutes",
    run: "../bench/strain/noisy.ts",
  },
  webhooks: {
    what: "what one misbehaving webhook receiver does to 49 others",
    takes: "3 minutes",
    run: "../bench/strain/webhooks.ts",
  },
  overload: {
    what: "load beyond capacity over 400 connections",
    takes: "5 minutes",
    run: "../bench/strain/overload.ts",
  },
  held: {
    what: "the cost of a held snapshot and an idle transaction",
    takes: "5 minutes",
    run: "../bench/strain/held.ts",
  },
  soak: {
    what: "steady load within the documented memory",
    takes: "as long as --minutes says",
    run: "../bench/strain/soak.ts",
  },
  "retention-soak": {
    what: "disk and latency while windows of a minute come and go",
    takes: "30 minutes",
    run: "../bench/strain/retention-soak.ts",
  },
  "telemetry-cost": {
    what: "CPU a record with and without telemetry",
    takes: "10 minutes",
    run: "../bench/telemetry-cost.ts",
  },
  "token-cost": {
    what: "event-loop time of a batch by kind of JSON token",
    takes: "1 minute",
    run: "../bench/token-cost.ts",
  },
  console: {
    what: "the console's portfolio with 1,000 properties, and from input to paint",
    takes: "3 minutes",
    run: "../bench/console.ts",
  },
  "simulator-plot": {
    what: "the simulator's distributions beside real bookings",
    takes: "1 minute",
    run: "./plot-simulator.ts",
  },
};

function table(): string {
  const names = Object.entries(CAMPAIGNS).map(
    ([name, { what, takes }]) => `  ${name.padEnd(18)} ${takes.padEnd(27)} ${what}`,
  );
  return ["npm run campaign -- NAME [--help]", "", ...names].join("\n");
}

const [name = "", ...args] = process.argv.slice(2);
const campaign = Object.hasOwn(CAMPAIGNS, name) ? CAMPAIGNS[name] : undefined;
if (campaign === undefined) {
  console.log(table());
  process.exitCode = name === "" || name === "--help" || name === "--list" ? 0 : 2;
} else if (typeof campaign.run === "string") {
  // The command reads its own arguments.
  process.argv.splice(2, 1);
  await import(campaign.run);
} else {
  try {
    process.exitCode = (await campaign.run(args)) ? 0 : 1;
  } catch (error) {
    if (!(error instanceof NotHere)) throw error;
    console.log(`SKIPPED, not run on this machine: ${error.message}`);
    process.exitCode = 77;
  }
}
