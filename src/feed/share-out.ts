/**
 * Shares `total` out: nobody gets more than wanted, and what those who want little leave goes to the others in equal parts.
 * With less than one for each, those who want least come first: they have soon been served.
 */
export function shareOut(wanted: readonly number[], total: number): number[] {
  const shares = wanted.map(() => 0);
  const order = wanted.map((_, at) => at).sort((left, right) => (wanted[left] ?? 0) - (wanted[right] ?? 0));
  let left = total;
  order.forEach((at, served) => {
    const share = Math.min(wanted[at] ?? 0, Math.ceil(left / (order.length - served)));
    shares[at] = share;
    left -= share;
  });
  return shares;
}
