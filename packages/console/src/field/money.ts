/** Decimal texts added up, exactly: `0.1` and `0.2` are `0.3`. Nothing of nothing is `0`. */
export function addMoney(texts: readonly string[]): string {
  const places = Math.max(0, ...texts.map((text) => text.split(".")[1]?.length ?? 0));
  const sum = texts.reduce((total, text) => {
    const [whole = "0", fraction = ""] = text.split(".");
    return total + BigInt(whole + fraction.padEnd(places, "0"));
  }, 0n);
  const digits = String(sum < 0n ? -sum : sum).padStart(places + 1, "0");
  const end = digits.length - places;
  return `${sum < 0n ? "-" : ""}${digits.slice(0, end)}${places === 0 ? "" : `.${digits.slice(end)}`}`;
}

/** One decimal text less another, exactly. */
export function subtractMoney(from: string, less: string): string {
  return addMoney([from, less.startsWith("-") ? less.slice(1) : `-${less}`]);
}
