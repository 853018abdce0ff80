import type { ServiceProcess } from "./service-process.ts";
import { median, percentile } from "./statistics.ts";

const HOST = "127.0.0.1";
const PAGE_ITEMS = 10_000;
/** Uncounted first queries, which are slower. */
const WARM_UP = 5;

/** Response times over HTTP in milliseconds, and the sizes of responses. */
export interface AnswerTimes {
  readonly answers: number;
  /** Average rows and pages per response. */
  readonly rows: number;
  readonly pages: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** An insight and its parameters. */
export interface LedgerQuestion {
  readonly insight: string;
  readonly parameters: Readonly<Record<string, string>>;
}

async function answer(service: ServiceProcess, { insight, parameters }: LedgerQuestion): Promise<number[]> {
  const rows: number[] = [];
  let cursor: string | null = null;
  do {
    const query: URLSearchParams = new URLSearchParams({
      ...parameters,
      limit: String(PAGE_ITEMS),
      ...(cursor === null ? {} : { cursor }),
    });
    const response = await fetch(`http://${HOST}:${service.port}/api/insight/v1/${insight}?${query}`, {
      headers: { authorization: `Bearer ${service.token}` },
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${insight}?${query}: ${response.status} ${text}`);
    const page = JSON.parse(text) as { items: unknown[]; nextCursor: string | null };
    rows.push(page.items.length);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return rows;
}

/** Sends the queries one after another, reading each response completely. Throws for an empty response. */
export async function askLedger(
  service: ServiceProcess,
  questions: readonly LedgerQuestion[],
): Promise<AnswerTimes> {
  const times: number[] = [];
  let [rows, pages] = [0, 0];
  for (const [at, question] of [...questions.slice(0, WARM_UP), ...questions].entries()) {
    const startedAt = performance.now();
    const answered = await answer(service, question);
    const took = performance.now() - startedAt;
    const count = answered.reduce((sum, items) => sum + items, 0);
    if (count === 0) throw new Error(`Nothing on the books: ${JSON.stringify(question)}`);
    if (at < WARM_UP) continue;
    times.push(took);
    rows += count;
    pages += answered.length;
  }
  const share = (sum: number) => sum / times.length;
  return {
    answers: times.length,
    rows: Math.round(share(rows)),
    pages: share(pages),
    p50Ms: median(times),
    p99Ms: percentile(times, 0.99),
  };
}
