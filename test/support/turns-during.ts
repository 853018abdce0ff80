/** How many turns of the event loop `work` leaves to others, and what it resolves to. */
export async function turnsDuring<Result>(
  work: () => Promise<Result> | Result,
): Promise<{ readonly turns: number; readonly result: Result }> {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  try {
    const result = await work();
    return { turns, result };
  } finally {
    isOver = true;
  }
}
