/** An instant with any offset as a UTC time. */
export const utc = (instant) => new Date(instant).toISOString();

/** The date at the hotel of an instant. */
export function dateAt(timeZone, instant) {
  return new Intl.DateTimeFormat("en-CA", { timeZone, dateStyle: "short" }).format(new Date(instant));
}

/** The UTC time of a local time such as `2026-10-25 02:30:00`. Of an hour that occurs twice, the first. */
export function utcOfLocal(timeZone, local) {
  const asIfUtc = Date.parse(`${local.replace(" ", "T").replace(/(Z|[+-]\d\d:?\d\d)$/, "")}Z`);
  const offset = (at) => {
    const parts = new Intl.DateTimeFormat("en-CA", {
      timeZone,
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    }).formatToParts(new Date(at));
    const { year, month, day, hour, minute, second } = Object.fromEntries(
      parts.map(({ type, value }) => [type, Number(value)]),
    );
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000;
  };
  const day = 86_400_000;
  // The offsets before and after a change of clocks; a local time that exists has one of them.
  const found = [offset(asIfUtc - day), offset(asIfUtc + day)].map((one) => asIfUtc - one);
  const exact = found.filter((at) => at + offset(at) === asIfUtc);
  return new Date(exact.length > 0 ? Math.min(...exact) : Math.max(...found)).toISOString();
}

export function dayBefore(date) {
  return new Date(Date.parse(date) - 86_400_000).toISOString().slice(0, 10);
}
