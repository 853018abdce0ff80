import { boundOf, type StayQuestion } from "./question.ts";

/** What an answer is made of: what has a source time, and what was received, up to these instants; `infinity` for no bound. */
export interface PointInTime {
  readonly sourceUpTo: string;
  readonly receivedUpTo: string;
}

/** A property as the tables know it. */
export interface InsightProperty {
  readonly propertyId: number;
  readonly bucket: number;
}

/** The instant of a question, by its clock. */
export function pointInTimeOf({ clock, asOf }: Pick<StayQuestion, "clock" | "asOf">): PointInTime {
  const bound = boundOf(asOf);
  return clock === "source"
    ? { sourceUpTo: bound, receivedUpTo: "infinity" }
    : { sourceUpTo: "infinity", receivedUpTo: bound };
}
