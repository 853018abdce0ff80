/**
 * `node bench/capacity.ts`: calculates how many Citus workers a number of hotels needs, and the effect of failing and
 * added workers, from measured costs (docs/internal/measurements.md, docs/scale.md). Hotels have random codes and sizes
 * and their actual buckets, so shares are as uneven as in the service.
 */
import { bucketOf } from "../src/ingest/log/part-name.ts";

const HOTELS = [1_000, 10_000, 50_000, 200_000];
const WORKERS = [1, 2, 4, 8, 16, 32, 64];
const BUCKETS = 64;

/** A day of the reference hotel of docs/scale.md, by how it sends changes of reservations: CPU seconds, and bytes of disk per year. */
const SENT = {
  "1 a request": { databaseSeconds: 0.06, serviceSeconds: 0.109, walBytes: 2e6, yearBytes: 550e6 },
  "100 a batch": { databaseSeconds: 0.023, serviceSeconds: 0.042, walBytes: 1.1e6, yearBytes: 170e6 },
};
const RECORDS_A_DAY = 1_030;
/** Pushes arrive within these hours of the day. */
const BUSY_SECONDS = 8 * 3_600;
/** The measured maximum of the databases' additional cost on Citus (docs/internal/measurements.md). */
const CITUS_FACTOR = 1.4;
const WORKER = { threads: 16, cpuShare: 0.5, diskBytes: 2e12, diskShare: 0.7 };
/** A shard of 299 MB moved in 18.3 s, with all servers on one busy machine. */
const MOVED_BYTES_PER_SECOND = 16e6;
/** Outages of a worker, each once per year: automatic failover, manual failover, restore. */
const OUTAGES_SECONDS = [30, 600, 14_400];
const YEARS = 2_000;

/** A seeded generator of numbers from 0 to 1 (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The sizes of hotels are roughly lognormal: many of fifty rooms, few of a thousand. The mean is 1. */
function sizeOf(random: () => number, sigma: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Math.exp(sigma * normal - (sigma * sigma) / 2);
}

function bucketSizes(hotels: number, sigma: number): number[] {
  const random = randomOf(hotels);
  const sizes = new Array<number>(BUCKETS).fill(0);
  for (let hotel = 0; hotel < hotels; hotel += 1) {
    const bucket = bucketOf(`CHAIN${hotel % 97}`, `HOTEL${hotel}`);
    sizes[bucket] = (sizes[bucket] ?? 0) + sizeOf(random, sigma);
  }
  return sizes;
}

/** The largest share relative to the mean, with Citus's round-robin placement and after rebalancing by size. */
function shares(sizes: readonly number[], workers: number): { inTurn: number; bySize: number } {
  const mean = sizes.reduce((sum, size) => sum + size, 0) / workers;
  const inTurn = new Array<number>(workers).fill(0);
  sizes.forEach((size, bucket) => {
    inTurn[bucket % workers] = (inTurn[bucket % workers] ?? 0) + size;
  });
  const bySize = new Array<number>(workers).fill(0);
  for (const size of sizes.toSorted((left, right) => right - left)) {
    const emptiest = bySize.indexOf(Math.min(...bySize));
    bySize[emptiest] = (bySize[emptiest] ?? 0) + size;
  }
  return { inTurn: Math.max(...inTurn) / mean, bySize: Math.max(...bySize) / mean };
}

/** The smallest number of workers with enough room for the largest share. */
function fewestWorkers(sizes: readonly number[], total: number, room: number): number | string {
  const found = WORKERS.find((workers) => (total / workers) * shares(sizes, workers).bySize <= room);
  return found ?? "over 64";
}

/** Seconds per year in which a batch of several hotels is refused because a worker of one of them is down. */
function refusedSeconds(workers: number, hotelsOfBatch: number, outageSeconds: number): number {
  const random = randomOf(workers * 1_000 + hotelsOfBatch);
  // Exponentially distributed, with a mean of one year.
  const apart = () => -Math.log(1 - random());
  let refused = 0;
  for (let year = 0; year < YEARS; year += 1)
    for (let worker = 0; worker < workers; worker += 1) {
      for (let at = apart(); at < 1; at += apart()) {
        const isHit = Array.from({ length: hotelsOfBatch }, () => Math.floor(random() * workers)).includes(
          worker,
        );
        if (isHit) refused += outageSeconds;
      }
    }
  return refused / YEARS;
}

const round = (value: number, digits = 2) => Number(value.toFixed(digits));
const table = (title: string, rows: readonly object[]) => {
  console.log(`\n${title}`);
  console.table(rows);
};

table(
  "Largest share of a worker, to the mean: shards in turn / after a rebalance by size (64 shards, sizes lognormal with sigma 1)",
  HOTELS.map((hotels) => {
    const sizes = bucketSizes(hotels, 1);
    const cells = WORKERS.map((workers) => {
      const { inTurn, bySize } = shares(sizes, workers);
      return [`${workers} workers`, `${round(inTurn)} / ${round(bySize)}`];
    });
    return { hotels, ...Object.fromEntries(cells) };
  }),
);

for (const [how, day] of Object.entries(SENT))
  table(
    `Reservations ${how}: workers of ${WORKER.threads} threads (half used) and 2 TB (70 % used) for a year`,
    HOTELS.map((hotels) => {
      const sizes = bucketSizes(hotels, 1);
      const cpuSeconds = hotels * day.databaseSeconds * CITUS_FACTOR;
      return {
        hotels,
        "records/s": round((hotels * RECORDS_A_DAY) / BUSY_SECONDS, 0),
        "workers by disk": fewestWorkers(sizes, hotels * day.yearBytes, WORKER.diskBytes * WORKER.diskShare),
        "workers by CPU": fewestWorkers(sizes, cpuSeconds, WORKER.threads * WORKER.cpuShare * BUSY_SECONDS),
        "threads of databases": round(cpuSeconds / BUSY_SECONDS, 1),
        "threads of the service": round((hotels * day.serviceSeconds) / BUSY_SECONDS, 1),
        "WAL MB/s": round((hotels * day.walBytes) / BUSY_SECONDS / 1e6, 1),
      };
    }),
  );

table(
  `Each worker fails once a year: minutes a year in which a batch is refused, of 1 / 10 / 100 hotels (${YEARS} years)`,
  WORKERS.filter((workers) => workers > 1).map((workers) => ({
    workers,
    ...Object.fromEntries(
      OUTAGES_SECONDS.map((seconds) => [
        `away for ${seconds} s`,
        [1, 10, 100].map((of) => round(refusedSeconds(workers, of, seconds) / 60, 1)).join(" / "),
      ]),
    ),
  })),
);

table(
  `One worker more, 200,000 hotels, a year, reservations 100 a batch: what moves, at ${MOVED_BYTES_PER_SECOND / 1e6} MB/s`,
  [8, 16, 32].map((workers) => {
    const bytes = (200_000 * SENT["100 a batch"].yearBytes) / (workers + 1);
    return {
      workers: `${workers} to ${workers + 1}`,
      "TB that move": round(bytes / 1e12),
      hours: round(bytes / MOVED_BYTES_PER_SECOND / 3_600, 1),
    };
  }),
);
