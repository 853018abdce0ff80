import {
  type HotelCalibration,
  type HotelKind,
  LEAD_CLASSES,
  SEGMENTS,
  type SegmentCalibration,
  type SegmentCode,
} from "#simulator/hotel-profile.ts";
import type { RealBooking } from "./real-bookings.ts";

const HOTELS: Readonly<Record<HotelKind, RealBooking["hotel"]>> = {
  resort: "Resort Hotel",
  city: "City Hotel",
};
const DAY_MS = 86_400_000;
const LEAD_STEPS = 64;
const RATE_STEPS = 40;
const NIGHTS_MAX = 21;
const CHANGES_MAX = 4;
const BOOKINGS_OF_SEGMENT_MIN = 30;
/** With fewer bookings in a class its rate of cancellations would be chance: the segment's own stands for it. */
const BOOKINGS_OF_CLASS_MIN = 25;
const PARTIES_MAX = 12;
const NATIONALITIES_MAX = 25;

const monthOf = ({ arrivalDate }: RealBooking): number => Number(arrivalDate.slice(5, 7)) - 1;
/** Monday is 0. */
const weekdayOf = (day: number): number => (day + 3) % 7;
const dayOf = ({ arrivalDate }: RealBooking): number => Date.parse(`${arrivalDate}T00:00:00Z`) / DAY_MS;
const thousandths = (part: number, whole: number): number => Math.round((part * 1000) / whole);

function countsUpTo(values: readonly number[], most: number): number[] {
  const counts = new Array<number>(most + 1).fill(0);
  for (const value of values) counts[Math.min(most, value)] = (counts[Math.min(most, value)] ?? 0) + 1;
  return counts;
}

/** Words by how often they occur, the most frequent first. */
function countsOf(words: readonly string[]): [word: string, count: number][] {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].sort(
    ([one, oneCount], [other, otherCount]) => otherCount - oneCount || (one < other ? -1 : 1),
  );
}

function quantiles(values: readonly number[], steps: number, from = 0, to = 1): number[] {
  const sorted = [...values].sort((left, right) => left - right);
  return Array.from({ length: steps + 1 }, (_, step) => {
    const at = Math.round((sorted.length - 1) * (from + ((to - from) * step) / steps));
    return sorted[at] ?? 0;
  });
}

/** How many days of each month, and of each weekday, the bookings' arrivals span. */
function daysSpanned(bookings: readonly RealBooking[]): { months: number[]; weekdays: number[] } {
  const days = bookings.map(dayOf).sort((left, right) => left - right);
  const months = new Array<number>(12).fill(0);
  const weekdays = new Array<number>(7).fill(0);
  for (let day = days[0] ?? 0; day <= (days.at(-1) ?? 0); day += 1) {
    const month = new Date(day * DAY_MS).getUTCMonth();
    months[month] = (months[month] ?? 0) + 1;
    weekdays[weekdayOf(day)] = (weekdays[weekdayOf(day)] ?? 0) + 1;
  }
  return { months, weekdays };
}

function cancelledByLead(bookings: readonly RealBooking[]): number[] {
  const rateOf = (some: readonly RealBooking[]) =>
    thousandths(some.filter(({ isCanceled }) => isCanceled).length, some.length);
  return LEAD_CLASSES.map((from, at) => {
    const to = LEAD_CLASSES[at + 1] ?? Number.POSITIVE_INFINITY;
    const own = bookings.filter(({ leadDays }) => from <= leadDays && leadDays < to);
    return rateOf(own.length < BOOKINGS_OF_CLASS_MIN ? bookings : own);
  });
}

function segmentOf(
  own: readonly RealBooking[],
  spanned: ReturnType<typeof daysSpanned>,
  rateCents: readonly number[],
): SegmentCalibration {
  const byMonth = countsUpTo(own.map(monthOf), 11);
  const byWeekday = countsUpTo(
    own.map((booking) => weekdayOf(dayOf(booking))),
    6,
  );
  const days = spanned.weekdays.reduce((sum, count) => sum + count, 0);
  const ratios = own.map((booking) =>
    Math.round((Number(booking.averageRate) * 100_000) / (rateCents[monthOf(booking)] ?? 1)),
  );
  const parties = countsOf(
    own
      // A few rows are of whole parties.
      .filter(({ adults }) => adults >= 1 && adults <= 4)
      .map(({ adults, children, babies }) => `${adults} ${children} ${babies}`),
  );
  return {
    arrivals: byMonth.map((count, month) => thousandths(count, spanned.months[month] ?? 1)),
    weekdays: byWeekday.map((count, weekday) =>
      Math.round((count * 1000 * days) / ((spanned.weekdays[weekday] ?? 1) * own.length)),
    ),
    leadDays: quantiles(
      own.map(({ leadDays }) => leadDays),
      LEAD_STEPS,
    ),
    nights: countsUpTo(
      own.map(({ nights }) => nights),
      NIGHTS_MAX,
    ),
    cancelled: cancelledByLead(own),
    rates: quantiles(ratios, RATE_STEPS, 0.005, 0.995),
    channels: countsOf(own.map(({ channel }) => channel)),
    boards: countsOf(own.map(({ meal }) => meal)),
    parties: parties.slice(0, PARTIES_MAX).map(([party, count]) => {
      const [adults = 1, children = 0, infants = 0] = party.split(" ").map(Number);
      return [adults, children, infants, count];
    }),
  };
}

function hotelOf(bookings: readonly RealBooking[]): HotelCalibration {
  const spanned = daysSpanned(bookings);
  const rateCents = Array.from({ length: 12 }, (_, month) => {
    const rates = bookings.filter((booking) => monthOf(booking) === month);
    return Math.round(
      rates.reduce((sum, { averageRate }) => sum + Number(averageRate) * 100, 0) / rates.length,
    );
  });
  const segments: Partial<Record<SegmentCode, SegmentCalibration>> = {};
  for (const [code, name] of Object.entries(SEGMENTS) as [SegmentCode, string][]) {
    const own = bookings.filter(({ marketSegment }) => marketSegment === name);
    if (own.length >= BOOKINGS_OF_SEGMENT_MIN) segments[code] = segmentOf(own, spanned, rateCents);
  }
  const stayed = bookings.filter(({ isCanceled }) => !isCanceled);
  const moved = stayed.filter(
    ({ reservedRoomType, assignedRoomType }) => reservedRoomType !== assignedRoomType,
  );
  return {
    segments,
    rateCents,
    nationalities: countsOf(
      bookings.map(({ country }) => country).filter((country) => /^[A-Z]{3}$/.test(country)),
    ).slice(0, NATIONALITIES_MAX),
    changes: countsUpTo(
      bookings.map(({ changes }) => changes),
      CHANGES_MAX,
    ),
    reassigned: thousandths(moved.length, stayed.length),
  };
}

/** What the simulator takes from the real bookings, each hotel by itself: counts, rates and quantiles, no booking. */
export function deriveCalibration(bookings: readonly RealBooking[]): Record<HotelKind, HotelCalibration> {
  const of = (kind: HotelKind) => hotelOf(bookings.filter(({ hotel }) => hotel === HOTELS[kind]));
  return { resort: of("resort"), city: of("city") };
}

/** As the file has it: one list of numbers or words a line. */
export function calibrationText(calibration: Record<HotelKind, HotelCalibration>): string {
  const lists = JSON.stringify(calibration, (_, value: unknown) => value, 1).replace(
    /\[[^[\]{}]*\]/g,
    (list) => JSON.stringify(JSON.parse(list)),
  );
  const pairs = lists.replace(/\[\s*(?:\[[^[\]]*\],?\s*)+\]/g, (list) => JSON.stringify(JSON.parse(list)));
  return `${pairs}\n`;
}
