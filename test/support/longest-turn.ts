/** The most processor time, in milliseconds, that `work` takes on this thread without a turn of the event loop. */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let before = process.threadCpuUsage();
  let isDone = false;
  const look = () => {
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1_000);
    before = process.threadCpuUsage();
    if (!isDone) setImmediate(look);
  };
  look();
  try {
    await work();
  } finally {
    isDone = true;
  }
  look();
  return longest;
}
