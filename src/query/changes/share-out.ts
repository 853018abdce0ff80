/**
 * Distributes `total`: each gets at most what it wants; the smallest wants are served first and the rest is divided equally, in shares of
 * at least `least`.
 */
export function distribute(wanted: readonly number[], total: number, least = 1): number[] {
  const shares = wanted.map(() => 0);
  const order = wanted.map((_, at) => at).sort((left, right) => (wanted[left] ?? 0) - (wanted[right] ?? 0));
  let left = total;
  order.forEach((at, served) => {
    const part = Math.max(least, Math.ceil(left / (order.length - served)));
    const share = Math.min(wanted[at] ?? 0, left, part);
    shares[at] = share;
    left -= share;
  });
  return shares;
}
