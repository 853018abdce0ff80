type SeriesKind = "now" | "past" | "ceiling" | "bars" | "past-bars";

export interface Series {
  readonly name: string;
  readonly kind: SeriesKind;
  /** One for each place on the x axis; null: not known, a gap. */
  readonly values: readonly (number | null)[];
  /** In words; `place` is that on the x axis, for what is known more exactly than a number. */
  readonly write: (value: number, place: number) => string;
}

export interface ChartProps {
  /** What the chart shows, in a sentence. */
  readonly label: string;
  /** Of the y axis. */
  readonly unit: string;
  /** Of the x axis, where its marks do not say it themselves. */
  readonly xUnit?: string;
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
  /** What is said before anything is pointed at; the newest by default. */
  readonly begin?: "oldest" | "newest";
}
