/**
 * `npm run campaign -- credential-timing [--pairs N]`: compares how long the token endpoint takes to refuse an unknown client
 * id, and a known one with a wrong secret. Alternates their order over one connection each, and prints medians. A
 * significant difference would reveal which ids exist.
 */
import { Agent, request as send } from "node:http";
import { newClientId, newClientSecret } from "../src/identity/secrets.ts";
import { startTestService } from "../test/support/service.ts";
import { readOptions } from "./read-options.ts";

const USAGE = `npm run campaign -- credential-timing [--pairs N]

Medians of refusing an unknown client id and a wrong secret, and of the difference within a pair.`;

/** Per address and id; further failures get another response. */
const FAILURES_PER_ID = 20;

const { pairs } = readOptions(USAGE, { pairs: { type: "string", default: "1000" } });
const service = await startTestService();
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/** Microseconds until the refusal arrives. */
async function refuse(clientId: string): Promise<number> {
  const body = `grant_type=client_credentials&client_id=${clientId}&client_secret=${newClientSecret()}`;
  const headers = { "content-type": "application/x-www-form-urlencoded", "content-length": body.length };
  const startedAt = performance.now();
  await new Promise<void>((resolve, reject) => {
    const asked = send(
      `${service.address}/api/oauth2/token`,
      { method: "POST", agent, headers },
      (answer) => {
        if (answer.statusCode !== 401) reject(new Error(`answered ${answer.statusCode}`));
        answer.resume().on("end", resolve);
      },
    );
    asked.on("error", reject).end(body);
  });
  return (performance.now() - startedAt) * 1000;
}

const median = (values: readonly number[], at = 0.5): number =>
  [...values].sort((left, right) => left - right)[Math.floor(values.length * at)] ?? Number.NaN;

const warmUp = 100;
const unknown: number[] = [];
const wrong: number[] = [];
let known = "";
for (let pair = 0; pair < Number(pairs) + warmUp; pair += 1) {
  if (pair % FAILURES_PER_ID === 0) known = (await service.newClient()).clientId;
  const isFirst = pair % 2 === 0;
  const first = await refuse(isFirst ? newClientId() : known);
  const second = await refuse(isFirst ? known : newClientId());
  if (pair < warmUp) continue;
  unknown.push(isFirst ? first : second);
  wrong.push(isFirst ? second : first);
}
const differences = unknown.map((microseconds, at) => microseconds - (wrong[at] ?? 0));
const summary = (values: readonly number[]) =>
  `median ${median(values).toFixed(0)} µs (quartiles ${median(values, 0.25).toFixed(0)} and ${median(values, 0.75).toFixed(0)})`;
console.log(`${pairs} pairs after ${warmUp}`);
console.log(`unknown id:   ${summary(unknown)}`);
console.log(`wrong secret: ${summary(wrong)}`);
console.log(`difference:   ${summary(differences)}`);
agent.destroy();
await service.stop();
