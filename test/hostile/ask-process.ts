/** Sends queries from a separate process until stopped; returns the number of responses. */
export interface AskOrder {
  /** Addresses of questions, asked in turn by each connection. */
  readonly questions: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly connections: number;
}

let answered = 0;

async function askForever({ questions, headers }: AskOrder, first: number): Promise<never> {
  for (let at = first; ; at += 1) {
    const answer = await fetch(questions[at % questions.length] as string, { headers });
    await answer.arrayBuffer();
    if (answer.ok) answered += 1;
  }
}

process.on("message", (order: AskOrder | "stop") => {
  if (order === "stop") process.send?.(answered);
  else for (let first = 0; first < order.connections; first += 1) void askForever(order, first);
});
