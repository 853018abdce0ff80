/**
 * A change feed consumer that tolerates kills: appends each line with its cursor to a file in one write, and resumes
 * after the last complete line. Imports only Node's modules, because it is started a thousand times.
 */
import { createHash } from "node:crypto";
import { appendFileSync, closeSync, fstatSync, ftruncateSync, openSync, readSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** What one receives. */
interface ConsumerSettings {
  readonly addresses: readonly string[];
  readonly token: string;
  /** Filters and limit, as they stand in the address. */
  readonly query: string;
  readonly kept: string;
  /** It ends by itself once it reads that it is caught up. */
  readonly untilCaughtUp: boolean;
}

interface Line {
  readonly type: string;
  readonly cursor: string;
  readonly caughtUp?: boolean;
  readonly record?: object;
}

const PAUSE_MS = 20;

/** More than a line and the half of the next one that a kill may leave. */
const TAIL_BYTES = 65_536;

/** The last cursor that was kept whole; what a kill left of a line behind it is cut off. */
function lastCursor(kept: string): string | undefined {
  const file = openSync(kept, "a+");
  try {
    const { size } = fstatSync(file);
    const tail = Buffer.alloc(Math.min(size, TAIL_BYTES));
    readSync(file, tail, 0, tail.length, size - tail.length);
    const end = tail.lastIndexOf("\n") + 1;
    ftruncateSync(file, size - tail.length + end);
    if (end === 0) return undefined;
    const start = tail.lastIndexOf("\n", end - 2) + 1;
    return (JSON.parse(tail.toString("utf8", start, end)) as Line).cursor;
  } finally {
    closeSync(file);
  }
}

/** The line with a digest of its content in the place of the record: copies differ in their correlation id alone. */
function briefly({ record, ...line }: Line): string {
  if (record === undefined) return `${JSON.stringify(line)}\n`;
  const content = JSON.stringify({ ...record, correlationId: undefined });
  const digest = createHash("sha256").update(content).digest("hex").slice(0, 24);
  return `${JSON.stringify({ ...line, digest })}\n`;
}

/** Reads one answer of the feed line by line; undefined where it was refused or cut off. */
async function readOnce(
  { addresses, token, query, kept }: ConsumerSettings,
  attempt: number,
): Promise<boolean | undefined> {
  const address = addresses[attempt % addresses.length] ?? "";
  const from = cursor === undefined ? "" : `&cursor=${cursor}`;
  const response = await fetch(`${address}/api/public/v1/changes?${query}${from}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  if (response.status !== 200) {
    const text = await response.text();
    if (response.status < 500) throw new Error(`${response.status} ${text}`);
    return undefined;
  }
  let rest = "";
  let caughtUp: boolean | undefined;
  for await (const text of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const json of lines) {
      const line = JSON.parse(json) as Line;
      caughtUp = line.caughtUp;
      appendFileSync(kept, briefly(line));
      cursor = line.cursor;
    }
  }
  return caughtUp;
}

const settings = JSON.parse(process.env["FEED_CONSUMER"] ?? "{}") as ConsumerSettings;
let cursor = lastCursor(settings.kept);
for (let attempt = process.pid; ; attempt += 1) {
  let caughtUp: boolean | undefined;
  try {
    caughtUp = await readOnce(settings, attempt);
  } catch (error) {
    // A node that was killed, or one that is not up yet; anything that it said is a problem.
    if (!(error instanceof TypeError)) throw error;
  }
  if (settings.untilCaughtUp && caughtUp === true) break;
  if (caughtUp === undefined) await delay(PAUSE_MS);
}
