import assert from "node:assert/strict";
import { test } from "node:test";
import { checkRecord } from "#contract/check-record.ts";
import { readBatch } from "#contract/read-batch.ts";
import { RESOURCES } from "#contract/resource.ts";
import { bucketOf } from "../../src/ingest/log/part-name.ts";
import { contentOf, expectedState, identityOf, instantText } from "./expected-state.ts";
import { generateWorkload } from "./workload.ts";

const SIZE = { seed: 7, records: 3_000, properties: 24 };
const workload = generateWorkload(SIZE);

test("the same seed gives the same workload and another seed another one", () => {
  assert.deepEqual(generateWorkload(SIZE), workload);
  assert.notDeepEqual(generateWorkload({ ...SIZE, seed: 8 }), workload);
});

test("every record of the workload is one the contract accepts", () => {
  for (const resource of RESOURCES) {
    const records = workload.filter((message) => message.resource === resource);
    const body = Buffer.from(`[${records.map(({ json }) => json).join(",")}]`);
    const batch = readBatch(body, { recordsMax: 10_000, depthMax: 16 });
    assert.ok(batch.ok, resource);
    for (const record of batch.records) {
      assert.deepEqual(checkRecord(resource, record, 10).violations, [], records[record.index]?.json);
    }
  }
});

test("the workload spreads over many buckets and has every resource", () => {
  const buckets = new Set(workload.map(({ clientCode, propertyCode }) => bucketOf(clientCode, propertyCode)));
  assert.ok(buckets.size >= 15, `only ${buckets.size} buckets`);
  assert.equal(new Set(workload.map(({ resource }) => resource)).size, 3);
});

test("the workload holds every kind of message that the contract has an answer for", () => {
  const { outcomes } = expectedState(workload);
  for (const outcome of ["a", "u", "s", "d"] as const) {
    const count = outcomes.filter((letter) => letter === outcome).length;
    assert.ok(count >= 30, `${count} records would be ${outcome}`);
  }
  const instants = new Map<string, Set<string>>();
  for (const message of workload) {
    const instant = `${identityOf(message)} ${instantText(message.sourceTime)}`;
    const contents = instants.get(instant) ?? new Set();
    instants.set(instant, contents.add(contentOf(message.resource, message.json)));
  }
  assert.ok([...instants.values()].filter((contents) => contents.size > 1).length >= 30);
});
