import { Link } from "wouter";
import type {
  Finding,
  NightReconciliationAnswer,
  NightReservationItem,
  PropertyCodes,
} from "../../contract.ts";
import { addressOf } from "../../data/call.ts";
import { useAnswer } from "../../data/queries.ts";
import { writeMany, writeSigned } from "../../field/amounts.ts";
import { historyPath } from "../../field/property-path.ts";
import { shortId } from "../../field/short-id.ts";
import { writeDate } from "../../field/stay-date.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { Disclosure } from "../../parts/disclosure.tsx";
import { Section } from "../../parts/page.tsx";
import { Answered, Empty } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Word } from "../../parts/word.tsx";
import { useFilters } from "../../routing/filters.ts";
import { usePointInTime } from "./insight-filters.tsx";

/** More reservations than any night of a hotel has. */
const LIMIT = 1000;

interface NightProps {
  readonly codes: PropertyCodes;
  readonly night: string;
}

/** One night taken apart: what may explain the difference, and every reservation that has the night. */
export function NightDrillDown({ codes, night }: NightProps) {
  const { change } = useFilters();
  const point = usePointInTime();
  const asked = useAnswer<NightReconciliationAnswer>(
    addressOf("insight/reconciliation/night", { ...codes, ...point, stayDate: night, limit: LIMIT }),
  );
  return (
    <Section
      title={writeDate(night)}
      aside={<Button onClick={() => change({ night: undefined })}>Close this night</Button>}
    >
      <Answered asked={asked} lines={6}>
        {(answer) => <Night answer={answer} codes={codes} />}
      </Answered>
    </Section>
  );
}

function Night({
  answer,
  codes,
}: {
  readonly answer: NightReconciliationAnswer;
  readonly codes: PropertyCodes;
}) {
  const { night, findings, reservations } = answer;
  return (
    <div className="stack">
      <p>
        Inventory reports <strong>{night.reported ?? "nothing"}</strong>, reservations come to{" "}
        <strong>{night.rebuilt}</strong>
        {night.difference === null ? null : (
          <>
            : <strong>{writeSigned(night.difference)}</strong>
          </>
        )}
        .{" "}
        {night.unpickedBlocks > 0
          ? `Groups hold ${writeMany(night.unpickedBlocks, "more room")} not picked up.`
          : ""}
      </p>
      {findings.length === 0 ? (
        <Empty title="Nothing differs on this night" />
      ) : (
        <Table
          caption="What may explain the difference, the likeliest first"
          rows={findings}
          keyOf={(finding) => JSON.stringify([finding.kind, finding.roomType, finding.records])}
          columns={findingColumns(codes)}
        />
      )}
      <Disclosure
        summary={`${answer.nextCursor === null ? "" : "The first "}${writeMany(reservations.length, "reservation")} with this night`}
      >
        <Table
          caption="Reservations with this night"
          narrow="scroll"
          rows={reservations}
          keyOf={(one) => JSON.stringify([one.reservationId, one.roomType, one.group])}
          columns={reservationColumns(codes)}
        />
      </Disclosure>
    </div>
  );
}

function findingColumns(codes: PropertyCodes): readonly Column<Finding>[] {
  return [
    { head: "May be", lead: true, cell: ({ kind }) => <Word>{kind.replaceAll("-", " ")}</Word> },
    { head: "Why", prose: true, cell: ({ message }) => message },
    { head: "Room type", cell: ({ roomType }) => roomType ?? "–" },
    { head: "Rooms", end: true, cell: ({ rooms }) => writeSigned(rooms) },
    {
      head: "Nights it fits",
      end: true,
      cell: ({ nights, nightsExplained }) => `${nightsExplained} of ${nights}`,
    },
    {
      head: "Records",
      cell: ({ records }) => (
        <span className="records">
          {records.slice(0, 4).map(({ resource, key, requestId, index }) => (
            <span key={`${requestId} ${index}`}>
              <Link to={historyPath(codes, resource, key)}>{key}</Link>{" "}
              <Link className="small muted" to={`/requests/${requestId}/${index}`}>
                as sent
              </Link>
            </span>
          ))}
        </span>
      ),
    },
  ];
}

function reservationColumns(codes: PropertyCodes): readonly Column<NightReservationItem>[] {
  return [
    {
      head: "Reservation",
      lead: true,
      cell: ({ reservationId }) => (
        <Link to={historyPath(codes, "reservations", reservationId)}>{reservationId}</Link>
      ),
    },
    { head: "Status", cell: (one) => <Status one={one} /> },
    { head: "Rooms", end: true, cell: ({ rooms }) => rooms },
    { head: "Counted", end: true, cell: ({ counted }) => counted },
    { head: "Room type", cell: ({ roomType }) => roomType ?? "–" },
    { head: "Group", cell: ({ group }) => group ?? <span className="muted">–</span> },
    { head: "Share", cell: ({ shareId }) => shareId ?? <span className="muted">–</span> },
    { head: "Stay", cell: ({ arrival, departure }) => `${arrival} to ${departure}` },
    {
      head: "From",
      cell: ({ requestId, index }) => (
        <Link className="nowrap" to={`/requests/${requestId}/${index}`}>
          request {shortId(requestId)}
        </Link>
      ),
    },
  ];
}

function Status({ one: { label, deducts } }: { readonly one: NightReservationItem }) {
  if (label === null) return <span className="muted">–</span>;
  if (deducts === null) return <Badge tone="warn">{label}: unmapped</Badge>;
  return <Badge tone={deducts ? "accent" : "plain"}>{label}</Badge>;
}
