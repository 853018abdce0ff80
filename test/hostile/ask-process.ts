/** Sends queries from a separate process until stopped; returns what was answered. */
export interface AskOrder {
  /** Addresses of questions, asked in turn by each connection. */
  readonly questions: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly connections: number;
}

export interface AskReport {
  /** Successes. */
  readonly answered: number;
  /** Errors of the server, which no question may cause, and questions that got no answer. */
  readonly failed: readonly string[];
}

const FAILED_MAX = 10;

let answered = 0;
const failed: string[] = [];

/** A question whose answer takes longer has none. */
const ANSWER_MS_MAX = 20_000;

let asked = 0;

async function ask(question: string, headers: Readonly<Record<string, string>>): Promise<void> {
  try {
    const answer = await fetch(question, { headers, signal: AbortSignal.timeout(ANSWER_MS_MAX) });
    await answer.arrayBuffer();
    if (answer.ok) answered += 1;
    // 503 refuses one who asks too much at once.
    else if (answer.status >= 500 && answer.status !== 503) note(`${answer.status}: ${question}`);
  } catch (error) {
    note(`${String(error)}: ${question}`);
  }
}

function note(what: string): void {
  if (failed.length < FAILED_MAX) failed.push(what);
}

/** The connections share the questions. */
async function askOn({ questions, headers }: AskOrder): Promise<void> {
  while (!isStopped || asked < questions.length) {
    const question = questions[asked % questions.length] as string;
    asked += 1;
    await ask(question, headers);
  }
}

let isStopped = false;
let asking: Promise<unknown> = Promise.resolve();

process.on("message", async (order: AskOrder | "stop") => {
  if (order !== "stop") {
    asking = Promise.all(Array.from({ length: order.connections }, () => askOn(order)));
    return;
  }
  isStopped = true;
  // Each question is asked at least once.
  await asking;
  process.send?.({ answered, failed } satisfies AskReport);
});
