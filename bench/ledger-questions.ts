import { Agent } from "node:http";
import { getPage } from "./get-page.ts";
import type { ServiceProcess } from "./service-process.ts";
import { median, percentile } from "./statistics.ts";

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

/** Milliseconds of the answer's pages, and the rows of each. */
async function answer(
  agent: Agent,
  service: ServiceProcess,
  { insight, parameters }: LedgerQuestion,
): Promise<{ readonly ms: number; readonly rows: readonly number[] }> {
  const rows: number[] = [];
  let took = 0;
  let cursor: string | null = null;
  do {
    const query: URLSearchParams = new URLSearchParams({
      ...parameters,
      limit: String(PAGE_ITEMS),
      ...(cursor === null ? {} : { cursor }),
    });
    const { status, body, ms } = await getPage(agent, service, `/api/insight/v1/${insight}?${query}`);
    took += ms;
    if (status !== 200) throw new Error(`${insight}?${query}: ${status} ${body.toString()}`);
    const page = JSON.parse(body.toString()) as { items: unknown[]; nextCursor: string | null };
    rows.push(page.items.length);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return { ms: took, rows };
}

/** Sends the queries one after another, reading each response completely. Throws for an empty response. */
export async function askLedger(
  service: ServiceProcess,
  questions: readonly LedgerQuestion[],
): Promise<AnswerTimes> {
  const agent = new Agent({ keepAlive: true });
  const times: number[] = [];
  let [rows, pages] = [0, 0];
  for (const [at, question] of [...questions.slice(0, WARM_UP), ...questions].entries()) {
    const answered = await answer(agent, service, question);
    const count = answered.rows.reduce((sum, items) => sum + items, 0);
    if (count === 0) throw new Error(`Nothing on the books: ${JSON.stringify(question)}`);
    if (at < WARM_UP) continue;
    times.push(answered.ms);
    rows += count;
    pages += answered.rows.length;
  }
  agent.destroy();
  const share = (sum: number) => sum / times.length;
  return {
    answers: times.length,
    rows: Math.round(share(rows)),
    pages: share(pages),
    p50Ms: median(times),
    p99Ms: percentile(times, 0.99),
  };
}
