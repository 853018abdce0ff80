import { letterOf } from "#contract/resource.ts";
import type { AcceptLog } from "../../src/ingest/log/accept-log.ts";
import type { PropertyRegister } from "../../src/ingest/log/property-register.ts";
import type { Submission } from "../../src/ingest/log/submission.ts";
import type { TestClient, TestService } from "../support/service.ts";
import type { OrderedBatch } from "./random-order.ts";

const [BRACKET, COMMA, CLOSING_BRACKET] = [Buffer.from("["), Buffer.from(","), Buffer.from("]")];

/** Gives one batch to whoever accepts it; settles once it was accepted. */
export type SendBatch = (batch: OrderedBatch) => Promise<void>;

/** A batch as http hands it to accept. That the workload's records are valid, `workload.test.ts` has checked. */
function submissionOf(batch: OrderedBatch): Submission {
  let at = 1;
  const records = batch.messages.map(({ message: { clientCode, propertyCode }, bytes }, index) => {
    const start = at;
    at += bytes.length + 1;
    return { index, start, end: start + bytes.length, clientCode, propertyCode };
  });
  return {
    clientId: "any-order",
    resource: letterOf(batch.resource),
    body: bodyOf(batch),
    records,
    rejected: [],
    lenient: false,
    correlationId: null,
    replyTo: null,
    idempotency: null,
  };
}

function bodyOf(batch: OrderedBatch): Buffer {
  const pieces = batch.messages.flatMap(({ bytes }, at) => [at === 0 ? BRACKET : COMMA, bytes]);
  return Buffer.concat([...pieces, CLOSING_BRACKET]);
}

/** Sends straight to the accept log of this process. */
export function sendInProcess(log: AcceptLog, properties: PropertyRegister): SendBatch {
  return async (batch) => {
    const submission = submissionOf(batch);
    await properties.register(submission.clientId, submission.records);
    await log.append(submission);
  };
}

/** Sends through HTTP, the bearer check and the contract's checks. */
export function sendByHttp(service: TestService, client: TestClient): SendBatch {
  return async (batch) => {
    const answer = await service.post(batch.resource, bodyOf(batch), { as: client });
    if (answer.status !== 202) throw new Error(`Answered ${answer.status}: ${answer.text.slice(0, 300)}`);
  };
}

/** Sends the batches in their order, up to `inFlight` at once, none before those it has to come after. */
export async function sendBatches(
  batches: readonly OrderedBatch[],
  inFlight: number,
  send: SendBatch,
): Promise<void> {
  const accepted = new Map<OrderedBatch, Promise<void>>();
  const running = new Set<Promise<void>>();
  for (const batch of batches) {
    while (running.size >= inFlight) await Promise.race(running);
    await Promise.all(batch.after.map((before) => accepted.get(before)));
    const done: Promise<void> = send(batch).finally(() => running.delete(done));
    running.add(done);
    accepted.set(batch, done);
  }
  await Promise.all(running);
}
