/** Instants are shown in UTC, as in answers, logs and the command line: one clock for everybody who talks about a batch. */

/** `2026-03-14 09:26:53` */
export function writeInstant(instant: string): string {
  return instant.slice(0, 19).replace("T", " ");
}

/** Seconds as `40 ms`, `1.4 s`, `12 s`, `3 min`, `5 h`, `12 d`. */
export function writeDuration(seconds: number): string {
  if (seconds === 0) return "0 s";
  if (seconds < 1) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** `4 min ago`, by this machine's clock; `just now` also where that is behind. */
export function writeAgo(instant: string, nowMs = Date.now()): string {
  const seconds = (nowMs - Date.parse(instant)) / 1000;
  return seconds < 5 ? "just now" : `${writeDuration(seconds)} ago`;
}

/** What an operator types for an instant (`2026-03-14`, `2026-03-14 09:26`) as UTC, or undefined. */
export function readInstant(text: string, end: "start" | "end" = "start"): string | undefined {
  const match = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2}(?:\.\d{1,6})?))?)?Z?$/.exec(text.trim());
  if (match === null) return undefined;
  const [, date, minutes, seconds] = match;
  const rest = end === "end" ? ["23:59", "59.999999"] : ["00:00", "00"];
  const instant = `${date}T${minutes ?? rest[0]}:${seconds ?? (minutes === undefined ? rest[1] : "00")}Z`;
  return Number.isNaN(Date.parse(instant)) ? undefined : instant;
}
