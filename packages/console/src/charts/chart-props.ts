type SeriesKind = "now" | "past" | "ceiling" | "bars";

export interface Series {
  readonly name: string;
  readonly kind: SeriesKind;
  /** One for each place on the x axis; null: not known, a gap. */
  readonly values: readonly (number | null)[];
  readonly write: (value: number) => string;
}

export interface ChartProps {
  /** What the chart shows, in a sentence. */
  readonly label: string;
  /** Rising. */
  readonly x: readonly number[];
  readonly writeX: (x: number) => string;
  /** Short, for the axis. */
  readonly writeTick: (x: number) => string;
  /** Where the axis may be marked; as many as there is room for. */
  readonly ticks: readonly number[];
  readonly series: readonly Series[];
  readonly height?: number;
  /** The largest x stands at the left: days before arrival. */
  readonly backwards?: boolean;
}
