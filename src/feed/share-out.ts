/**
 * Shares `total` out: nobody gets more than wanted, and what those who want little leave goes to the others in equal parts of
 * `least` or more. Where that is not enough for all, those who want least come first: they have soon been served.
 */
export function shareOut(wanted: readonly number[], total: number, least = 1): number[] {
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
