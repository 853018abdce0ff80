import { Link } from "wouter";
import { Chart } from "../charts/chart.tsx";
import type { IntakeAnswer, IntakeMinute, Resource } from "../contract.ts";
import { useAnswer, useMay } from "../data/queries.ts";
import { writeCount, writeDuration, writeMany, writeTime } from "../field/format.ts";
import { Table } from "../parts/list.tsx";
import { Answered, Empty, Figures, Notice, Page, Section } from "../parts/page.tsx";
import { REQUEST_COLUMNS } from "./requests.tsx";

const RENEWED_MS = 3000;
/** Batches are normally applied within milliseconds. */
const LAG_SECONDS_MAX = 30;
const RESOURCES: readonly Resource[] = ["inventories", "reservations", "groups"];
const ONE: Readonly<Record<Resource, string>> = {
  inventories: "inventory",
  reservations: "reservation",
  groups: "group",
};

export function IntakePage() {
  const asked = useAnswer<IntakeAnswer>("intake", { againMs: () => RENEWED_MS });
  return (
    <Page
      title="Ingestion"
      lead="What partners send, and how far it has been applied. Updated every three seconds."
    >
      <Answered asked={asked} lines={9}>
        {(answer) => <Intake answer={answer} />}
      </Answered>
    </Page>
  );
}

function Intake({ answer }: { answer: IntakeAnswer }) {
  const { lag, quarantined, minutes, lastBatches } = answer;
  const may = useMay();
  const counted = minutes.filter(({ resources }) => resources !== null);
  // The newest minute is still growing.
  const last = counted.at(-2) ?? counted.at(-1);
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
            name: "Records last minute",
            value: last === undefined ? "–" : writeCount(total(last, "records")),
          },
          {
            name: "Batches last minute",
            value: last === undefined ? "–" : writeCount(total(last, "batches")),
          },
          {
            name: "Lag",
            value: writeDuration(lag.seconds),
            note: lag.waiting === 0 ? "all is applied" : "oldest waiting",
          },
          {
            name: "Backlog",
            value: `${writeCount(lag.waiting)}${lag.waiting >= lag.waitingMax ? "+" : ""}`,
            note: "batch parts to be applied",
          },
          {
            name: "In quarantine",
            value: writeCount(quarantined),
            note:
              quarantined === 0 ? (
                "none"
              ) : (
                <Link to="/quarantine">
                  {may("resolve-quarantine") ? "decide on" : "see"} {quarantined === 1 ? "it" : "them"}
                </Link>
              ),
          },
        ]}
      />
      <Section title="Records per minute" aside={<p>{hourInWords(counted)}</p>}>
        <MinutesChart minutes={minutes} />
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

function total({ resources }: IntakeMinute, what: "records" | "batches"): number {
  return RESOURCES.reduce((sum, resource) => sum + (resources?.[resource][what] ?? 0), 0);
}

function hourInWords(minutes: readonly IntakeMinute[]): string {
  const sums = RESOURCES.map((resource) => {
    const records = minutes.reduce((sum, { resources }) => sum + (resources?.[resource].records ?? 0), 0);
    return { resource, records };
  }).filter(({ records }) => records > 0);
  if (sums.length === 0) return "Nothing in the last hour";
  const words = sums.map(({ resource, records }) => writeMany(records, ONE[resource], resource));
  return `In the last hour: ${words.join(", ")}`;
}

function MinutesChart({ minutes }: { minutes: readonly IntakeMinute[] }) {
  const x = minutes.map((_, place) => place);
  const clock = (place: number) => writeTime(minutes[place]?.minute ?? "", 5);
  return (
    <Chart
      label="Records received in each of the last 60 minutes"
      unit="Records"
      x={x}
      writeX={(place) => clock(place)}
      writeTick={(place) => clock(place)}
      ticks={x.filter((place) => clock(place).endsWith("0") || clock(place).endsWith("5"))}
      height={200}
      series={[
        {
          name: "Records",
          kind: "bars",
          values: minutes.map((minute) => (minute.resources === null ? null : total(minute, "records"))),
          write: writeCount,
        },
      ]}
    />
  );
}
