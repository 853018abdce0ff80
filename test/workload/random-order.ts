import type { Resource } from "#contract/resource.ts";
import { type JudgedRecord, judge } from "./expected-state.ts";
import type { Message } from "./message.ts";
import type { SeededRandom } from "./seeded-random.ts";

/** A message of a workload with what the order needs to know of it, worked out once for all orders. */
export interface OrderedMessage extends JudgedRecord {
  readonly message: Message;
  /** The record's JSON as it is sent. */
  readonly bytes: Buffer;
  /** Identity and instant: messages that share it and differ in content are decided by receipt. */
  readonly moment: string;
}

/** A batch of one resource, as one request. `after` are batches that must have been accepted before it is sent. */
export interface OrderedBatch {
  readonly resource: Resource;
  readonly messages: readonly OrderedMessage[];
  readonly after: readonly OrderedBatch[];
}

/** So many records are sent again, somewhere else in the order. */
const REPEATED = 0.12;
const BATCH_RECORDS_MAX = 500;

export function prepareMessages(workload: readonly Message[]): OrderedMessage[] {
  return workload.map((message) => {
    const judged = judge(message);
    const moment = `${judged.identity}\0${judged.sourceTime}`;
    return { ...judged, message, moment, bytes: Buffer.from(message.json) };
  });
}

/** Moments with more than one content, and these contents in the order in which the workload has them. */
export function contestedMoments(messages: readonly OrderedMessage[]): Map<string, string[]> {
  const contents = new Map<string, string[]>();
  for (const { moment, content } of messages) {
    const ofMoment = contents.get(moment);
    if (ofMoment === undefined) contents.set(moment, [content]);
    else if (!ofMoment.includes(content)) ofMoment.push(content);
  }
  return new Map([...contents].filter(([, ofMoment]) => ofMoment.length > 1));
}

/**
 * The workload in a random order with random repetitions. Only where records of one key share a source time and differ
 * in content, the first copies keep their order: that order is what decides between them (architecture, guarantee 2).
 */
export function randomOrder(
  messages: readonly OrderedMessage[],
  contested: ReadonlyMap<string, readonly string[]>,
  random: SeededRandom,
): OrderedMessage[] {
  const repeated = messages.filter(() => random.chance(REPEATED));
  const order = random.shuffle([...messages, ...repeated]);
  const places = new Map<string, number[]>();
  order.forEach(({ moment }, at) => {
    if (contested.has(moment)) places.set(moment, [...(places.get(moment) ?? []), at]);
  });
  for (const [moment, ofMoment] of places) {
    const wanted = contested.get(moment) ?? [];
    const found = ofMoment.map((at) => order[at] as OrderedMessage);
    // Firsts in their order at the front of the moment's places, all further copies behind them.
    const firsts = wanted.map((content) => found.find((candidate) => candidate.content === content));
    const further = found.filter((candidate) => !firsts.includes(candidate));
    [...firsts, ...further].forEach((candidate, at) => {
      order[ofMoment[at] as number] = candidate as OrderedMessage;
    });
  }
  return order;
}

/** Cuts an order into requests: each of one resource, over all properties, of 1 to 500 records (more small than large). */
export function batchesOf(
  order: readonly OrderedMessage[],
  contested: ReadonlyMap<string, readonly string[]>,
  random: SeededRandom,
): OrderedBatch[] {
  const batches: OrderedBatch[] = [];
  const open = new Map<
    Resource,
    { batch: { resource: Resource; messages: OrderedMessage[]; after: OrderedBatch[] }; size: number }
  >();
  const lastOfMoment = new Map<string, OrderedBatch>();
  for (const ordered of order) {
    const { resource } = ordered.message;
    let current = open.get(resource);
    if (current === undefined) {
      const size = random.chance(0.1)
        ? 1
        : Math.ceil(BATCH_RECORDS_MAX * (random.between(1, 100) / 100) ** 2);
      current = { batch: { resource, messages: [], after: [] }, size };
      open.set(resource, current);
    }
    const { batch, size } = current;
    batch.messages.push(ordered);
    if (contested.has(ordered.moment)) {
      const before = lastOfMoment.get(ordered.moment);
      if (before !== undefined && before !== batch && !batch.after.includes(before)) batch.after.push(before);
      lastOfMoment.set(ordered.moment, batch);
    }
    if (batch.messages.length === size) {
      batches.push(batch);
      open.delete(resource);
    }
  }
  return [...batches, ...[...open.values()].map(({ batch }) => batch)];
}
