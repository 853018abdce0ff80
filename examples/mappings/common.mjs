import { readFile } from "node:fs/promises";
import { bellhop, PROPERTY } from "../guides/bellhop.mjs";

/** The hotel's codes at Bellhop, and its time zone. */
export const hotel = {
  clientCode: "DEMO",
  propertyCode: PROPERTY,
  timeZone: process.argv.find((argument) => /^[A-Z][a-z]+\/\w+$/.test(argument)) ?? "Europe/Berlin",
};

/** The payload of an adapter: the file that the command line names, or the example beside it. */
export async function readPayload(example) {
  const named = process.argv.slice(2).find((argument) => argument.endsWith(".json"));
  return JSON.parse(await readFile(named ?? new URL(`payloads/${example}`, import.meta.url), "utf8"));
}

/** Pushes the records of a resource and prints their outcomes, with each warning. */
export async function push(resource, records) {
  const { outcomes, warned, rejected } = await bellhop[resource].send(records, { waitForOutcomes: true });
  const counts = Object.entries(outcomes).filter(([, count]) => count > 0);
  console.log(`${resource}: ${counts.map(([name, count]) => `${count} ${name}`).join(", ")}`);
  for (const { record, warnings } of warned)
    for (const { code, message } of warnings)
      console.log(`  ${record.reservationId ?? record.groupCode}: ${code}: ${message}`);
  for (const { message } of rejected) console.log(`  rejected: ${message}`);
}

export * from "./times.mjs";

/** An amount as text, without the errors of binary fractions. */
export const amount = (value) => (value === undefined ? undefined : Number(value).toFixed(2));
