import { Link } from "wouter";
import { Chart } from "../charts/chart.tsx";
import type { StackKind } from "../charts/plot.tsx";
import type { IntakeAnswer, IntakeMinute, IntakeOutcomes, IntakeRange, Resource } from "../contract.ts";
import { addressOf, useAnswer, useMay } from "../data/queries.ts";
import { writeCount, writeDuration, writeMany, writeShare, writeTime } from "../field/format.ts";
import { AddressChoice } from "../parts/field.tsx";
import { ExportButtons, Table } from "../parts/list.tsx";
import { Answered, Empty, Figures, Notice, Page, Section } from "../parts/page.tsx";
import { orDash } from "../parts/values.tsx";
import { useFilters } from "../routing/filters.ts";
import { REQUEST_COLUMNS } from "./requests.tsx";

const RANGES = { hour: "Hour", day: "24 hours" } as const;
/** The newest quarter of an hour in a day's chart changes little between refetches. */
const RENEWED_MS: Readonly<Record<IntakeRange, number>> = { hour: 3_000, day: 30_000 };
/** Batches are normally applied within milliseconds. */
const LAG_SECONDS_MAX = 30;
/** Colours that are distinguishable in both themes. */
const RESOURCES = [
  ["inventories", "inventory", "stack-0"],
  ["reservations", "reservation", "stack-2"],
  ["groups", "group", "stack-4"],
] as const satisfies readonly (readonly [many: Resource, one: string, colour: StackKind])[];

export function IntakePage() {
  const range = useFilters().filters.get("range") === "day" ? "day" : "hour";
  const asked = useAnswer<IntakeAnswer>(addressOf("intake", { range }), {
    // A busy day needs several requests to count.
    againMs: (answer) =>
      RENEWED_MS[answer?.minutes.some(({ resources }) => resources === null) ? "hour" : range],
    keeps: true,
  });
  return (
    <Page
      title="Ingestion"
      lead={`What partners send, and how far it has been applied. Updated every ${RENEWED_MS[range] / 1000} seconds.`}
      actions={
        <ExportButtons name={`ingestion-${range}`} csv={CSV} csvRow={csvRow} of={asked.data?.minutes ?? []} />
      }
    >
      <search className="filters">
        <AddressChoice name="range" label="Last" options={RANGES} />
      </search>
      <Answered asked={asked} lines={9}>
        {(answer) => <Intake answer={answer} range={range} />}
      </Answered>
    </Page>
  );
}

function Intake({ answer, range }: { answer: IntakeAnswer; range: IntakeRange }) {
  const { lag, quarantined, minutes, outcomes, lastBatches } = answer;
  const may = useMay();
  const counted = minutes.filter(({ resources }) => resources !== null);
  // The newest interval is incomplete.
  const last = counted.at(-2) ?? counted.at(-1);
  const sum = (what: "records" | "batches") => counted.reduce((all, minute) => all + total(minute, what), 0);
  const step = range === "hour" ? "minute" : "quarter of an hour";
  return (
    <>
      {lag.seconds > LAG_SECONDS_MAX && (
        <Notice tone="warn" title={`The oldest waiting batch came ${writeDuration(lag.seconds)} ago`}>
          Batches are kept safe meanwhile. The service's log and <code>/metrics</code> say what the appliers
          do.
        </Notice>
      )}
      <Figures
        figures={[
          {
            name: "Records",
            value: writeCount(sum("records")),
            note: `${writeMany(sum("batches"), "batch", "batches")}; ${writeCount(last === undefined ? 0 : total(last, "records"))} in the last ${step}`,
          },
          rateOf("Rejected", "rejected", outcomes.rejected, outcomes),
          rateOf("With warnings", "warned", outcomes.warned, outcomes),
          {
            name: "Lag",
            value: writeDuration(lag.seconds),
            note:
              lag.waiting === 0
                ? "everything is applied"
                : `${writeCount(lag.waiting)}${lag.waiting >= lag.waitingMax ? "+" : ""} batch parts to be applied`,
          },
          {
            name: "In quarantine",
            value: writeCount(quarantined),
            note:
              quarantined === 0 ? (
                "none"
              ) : (
                <Link to="/quarantine">
                  {may("resolve-quarantine") ? "review" : "see"} {quarantined === 1 ? "it" : "them"}
                </Link>
              ),
          },
        ]}
      />
      <Section title={`Records per ${step}`} aside={<p>{rangeInWords(counted, range)}</p>}>
        <RecordsChart minutes={minutes} range={range} step={step} />
      </Section>
      <Section title="Newest batches" aside={<Link to="/requests">All requests</Link>}>
        <Table
          caption="The newest batches, newest first"
          columns={REQUEST_COLUMNS}
          rows={lastBatches}
          empty={
            <Empty title="No batches yet">
              The first batch shows here as soon as a partner sends it. A partner needs a client
              {may("manage-clients") && (
                <>
                  : <Link to="/clients/new">create one</Link>
                </>
              )}
              .
            </Empty>
          }
          keyOf={({ requestId }) => requestId}
        />
      </Section>
    </>
  );
}

const CSV = `begin ${RESOURCES.map(([resource]) => resource).join(" ")}`;

function csvRow({ minute, resources }: IntakeMinute): object {
  const records = RESOURCES.map(([resource]) => [resource, resources?.[resource].records]);
  return { begin: minute, ...Object.fromEntries(records) };
}

function total({ resources }: IntakeMinute, what: "records" | "batches"): number {
  return RESOURCES.reduce((sum, [resource]) => sum + (resources?.[resource][what] ?? 0), 0);
}

function rateOf(name: string, outcome: string, count: number, { records }: IntakeOutcomes) {
  const words = `${writeCount(count)} of ${writeMany(records, "record")}`;
  return {
    name,
    value: orDash(records === 0 ? null : count / records, writeShare),
    note: count === 0 ? words : <Link to={`/requests?outcome=${outcome}`}>{words}</Link>,
  };
}

function rangeInWords(minutes: readonly IntakeMinute[], range: IntakeRange): string {
  const sums = RESOURCES.map(([resource, one]) => {
    const records = minutes.reduce((sum, { resources }) => sum + (resources?.[resource].records ?? 0), 0);
    return { resource, one, records };
  }).filter(({ records }) => records > 0);
  if (sums.length === 0) return `Nothing in the last ${RANGES[range].toLowerCase()}`;
  return sums.map(({ resource, one, records }) => writeMany(records, one, resource)).join(", ");
}

interface RecordsChartProps {
  readonly minutes: readonly IntakeMinute[];
  readonly range: IntakeRange;
  readonly step: string;
}

/** One mark every five minutes, or every two hours. */
const isMarked = (clock: string, range: IntakeRange) =>
  range === "hour" ? /[05]$/.test(clock) : /[02468]:00$/.test(clock);

function RecordsChart({ minutes, range, step }: RecordsChartProps) {
  const x = minutes.map((_, place) => place);
  const clock = (place: number) => writeTime(minutes[place]?.minute ?? "", 5);
  return (
    <Chart
      label={`Records received in each ${step}, last ${RANGES[range].toLowerCase()}`}
      unit="Records"
      x={x}
      writeX={(place) =>
        range === "hour" ? clock(place) : `${clock(place)} to ${clock(place + 1) || "now"}`
      }
      writeTick={clock}
      ticks={x.filter((place) => isMarked(clock(place), range))}
      height={200}
      series={RESOURCES.map(([resource, _, kind]) => ({
        name: resource,
        kind,
        values: minutes.map(({ resources }) => resources?.[resource].records ?? null),
        write: writeCount,
      }))}
    />
  );
}
