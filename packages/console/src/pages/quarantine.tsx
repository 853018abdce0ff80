import { type ReactNode, useRef, useState } from "react";
import { Link } from "wouter";
import type {
  QuarantineAnswer,
  QuarantineGroup,
  QuarantineItem,
  QuarantinePageAnswer,
  ResolveAnswer,
} from "../contract.ts";
import { addressOf, ask, CallError, type Parameters, post, useAnswer, useMay } from "../data/queries.ts";
import { historyPath, shortId, writeCount, writeMany } from "../field/format.ts";
import { Button } from "../parts/button.tsx";
import { Dialog, Form, ReasonField, typed, useDeed, useSay } from "../parts/dialog.tsx";
import { AddressFilter, AddressSelect } from "../parts/field.tsx";
import { ClearFilters, Filters } from "../parts/filters.tsx";
import { type Column, ExportButtons, figure, List, Table, useList } from "../parts/list.tsx";
import { Answered, DetailPage, Empty, Facts, Failure, Notice, Page, Section } from "../parts/page.tsx";
import { RecordChanges } from "../parts/record-changes.tsx";
import { SavedViews } from "../parts/saved-views.tsx";
import { Badge, Instant, PayloadView, PropertyLink, RequestLink, Word } from "../parts/values.tsx";
import { useWork } from "../parts/work.tsx";
import { useFilters } from "../routing/filters.ts";

const REASONS: Readonly<Record<string, string>> = {
  "time.future": "Source time in the future",
  "count.negative": "Count below zero",
  "data.unstorable": "Value that cannot be stored",
  "record.unreadable": "Record that cannot be read again",
  "state.incomplete": "Earlier versions incomplete",
};
const RESOURCES = [["", "Any"], "inventories", "reservations", "groups"] as const;

const nameOf = ({ requestId, index }: Pick<QuarantineItem, "requestId" | "index">) => `${requestId}/${index}`;

/** Omits text that is the same in every message of the reason. */
function writeWhy(message: string): string {
  const [why = ""] = message.split(": the record was quarantined ", 1);
  return why.replace(/ \(limit: 10 minutes\)$/, "").replace(/\.\d+Z/, "Z");
}

/** A decision takes effect within moments, unless the applier has a backlog. */
const WAIT_SECONDS = 5;
const DECIDED_RENEWED_MS = 500;
/** Shows decisions of other operators and windows. */
const RENEWED_MS = 10_000;

export function QuarantinePage() {
  const { filters } = useFilters();
  const { clientCode, propertyCode, resource, code } = Object.fromEntries(filters);
  const question = { clientCode, propertyCode, resource, code };
  const [decided, setDecided] = useState<ReadonlySet<string>>(new Set());
  const [deciding, setDeciding] = useState<Deciding>();
  const asked = useList<QuarantinePageAnswer>("quarantine", question, {
    againMs: (answer) =>
      answer?.items.some((item) => decided.has(nameOf(item))) ? DECIDED_RENEWED_MS : RENEWED_MS,
  });
  return (
    <Page
      title="Quarantine"
      lead="Accepted records that wait for a decision. A release applies the record verbatim."
      actions={
        <ExportButtons
          name="quarantine"
          of={asked.whole}
          csv="requestId index clientCode propertyCode resource key code message receivedAt"
        />
      }
    >
      <Filters>
        <AddressSelect name="code" label="Reason" options={{ "": "Any", ...REASONS }} />
        <AddressSelect name="resource" label="Resource" options={RESOURCES} />
        <AddressFilter name="clientCode" label="Client code" first />
        <AddressFilter name="propertyCode" label="Property code" />
      </Filters>
      <SavedViews />
      <Answered asked={asked}>
        {({ groups }) =>
          groups.length === 0 ? (
            <NothingHeld />
          ) : (
            <>
              <Section title="Reasons">
                <Groups groups={groups} code={code} />
              </Section>
              <Records
                key={filters.toString()}
                asked={asked}
                question={question}
                decided={decided}
                onDecide={(decision, names) => setDeciding({ decision, names })}
              />
            </>
          )
        }
      </Answered>
      {deciding !== undefined && (
        <DecisionDialog
          {...deciding}
          onDecided={(names) => setDecided((before) => new Set([...before, ...names]))}
          onClose={() => setDeciding(undefined)}
        />
      )}
    </Page>
  );
}

function NothingHeld() {
  return useFilters().filters.size > 0 ? (
    <Empty title="No record that matches is quarantined" actions={<ClearFilters />} />
  ) : (
    <Empty title="No record is quarantined">
      Records are quarantined when their source time is in the future, a count is below zero where that is not
      accepted, or the database cannot store a value.
    </Empty>
  );
}

const PROPERTIES_NAMED = 3;

function Groups({ groups, code }: { groups: readonly QuarantineGroup[]; code: string | undefined }) {
  const { filters } = useFilters();
  const to = (changes: Readonly<Record<string, string>>) =>
    addressOf("/quarantine", { ...Object.fromEntries(filters), cursor: undefined, ...changes });
  return (
    <Table
      caption="Reasons, the most records first"
      rows={groups}
      keyOf={(group) => group.code}
      rowClass={(group) => (group.code === code ? "chosen" : undefined)}
      columns={[
        {
          head: "Reason",
          lead: true,
          cell: (group) => (
            <Link to={to({ code: group.code })} aria-current={group.code === code ? "true" : undefined}>
              {REASONS[group.code] ?? group.code}
            </Link>
          ),
        },
        figure("Records", ({ records }: QuarantineGroup) => records, writeCount),
        { head: "Oldest", cell: ({ oldestReceivedAt }) => <Instant at={oldestReceivedAt} as="ago" /> },
        {
          head: "Properties",
          cell: ({ code: reason, properties, propertyTotal }) => (
            <span className="listed">
              {properties.slice(0, PROPERTIES_NAMED).map(({ clientCode, propertyCode, records }) => (
                <span key={`${clientCode}/${propertyCode}`}>
                  <Link to={to({ code: reason, clientCode, propertyCode })}>
                    <Word>{`${clientCode} / ${propertyCode}`}</Word>
                  </Link>{" "}
                  <span className="muted">{writeCount(records)}</span>
                </span>
              ))}
              {propertyTotal > PROPERTIES_NAMED && (
                <span className="muted">and {writeCount(propertyTotal - PROPERTIES_NAMED)} more</span>
              )}
            </span>
          ),
        },
      ]}
    />
  );
}

interface RecordsProps {
  readonly asked: ReturnType<typeof useList<QuarantinePageAnswer>>;
  readonly question: Parameters;
  readonly decided: ReadonlySet<string>;
  readonly onDecide: (decision: Decision, names: readonly string[]) => void;
}

/** The maximum for one bulk decision, oldest first. */
const BULK_MAX = 1_000;

function Records({ asked, question, decided, onDecide }: RecordsProps) {
  const mayDecide = useMay()("resolve-quarantine");
  /** Includes records of other pages. */
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const deed = useDeed();
  const { items = [], groups = [], nextCursor = null } = asked.data ?? {};
  const open = items.map(nameOf).filter((name) => !decided.has(name));
  const names = [...chosen].filter((name) => !decided.has(name));
  const hasAll = open.every((name) => chosen.has(name));
  const group = groups.length === 1 ? groups[0] : groups.find(({ code }) => code === question["code"]);
  const inGroup = Math.min(group?.records ?? 0, BULK_MAX);
  const chooseGroup = async () => {
    const address = addressOf("quarantine", { ...question, limit: BULK_MAX });
    setChosen(new Set((await ask<QuarantinePageAnswer>(address)).items.map(nameOf)));
  };
  const box: Column<QuarantineItem> = {
    head: "Select",
    action: true,
    cell: (item) => {
      const name = nameOf(item);
      if (decided.has(name)) return <Badge tone="accent">decided</Badge>;
      return (
        <input
          type="checkbox"
          className="pick"
          aria-label={`Select ${item.key}`}
          checked={chosen.has(name)}
          onChange={({ target }) =>
            setChosen(new Set(target.checked ? [...chosen, name] : names.filter((each) => each !== name)))
          }
        />
      );
    },
  };
  return (
    <Section title={REASONS[question["code"] ?? ""] ?? "Records"} aside={<p>oldest first</p>}>
      {mayDecide && open.length > 0 && (
        <div className="bulk">
          <label className="check">
            <input type="checkbox" checked={hasAll} onChange={() => setChosen(new Set(hasAll ? [] : open))} />
            {nextCursor === null ? "All" : "All on this page"}
          </label>
          {hasAll && names.length < inGroup && (
            <Button kind="quiet" busy={deed.busy} onClick={() => deed.run(chooseGroup)}>
              Select {inGroup === group?.records ? "all" : "the oldest"} {writeMany(inGroup, "record")} of
              this reason
            </Button>
          )}
          <span role="status">{names.length > 0 && `${writeMany(names.length, "record")} selected`}</span>
          {names.length > 0 && <DecisionButtons onDecide={(decision) => onDecide(decision, names)} />}
        </div>
      )}
      <Failure error={deed.error} />
      <List
        asked={asked}
        caption="Records in quarantine, oldest first"
        columns={mayDecide ? [box, ...COLUMNS] : COLUMNS}
        keyOf={nameOf}
        noun={["record"]}
        empty={<Empty title="No record has this reason" />}
      />
    </Section>
  );
}

const COLUMNS: readonly Column<QuarantineItem>[] = [
  {
    head: "Record",
    lead: true,
    cell: ({ requestId, index, key }) => (
      <Link to={`/quarantine/${requestId}/${index}`}>
        <Word>{key === "" ? "unreadable" : key}</Word>
      </Link>
    ),
  },
  { head: "Resource", cell: ({ resource }) => resource },
  { head: "Property", cell: (record) => <PropertyLink of={record} /> },
  { head: "Received", cell: ({ receivedAt }) => <Instant at={receivedAt} as="ago" /> },
  { head: "Why", prose: true, cell: ({ message }) => writeWhy(message) },
];

interface ReleaseProps {
  readonly of: QuarantineAnswer;
  readonly release: NonNullable<QuarantineAnswer["release"]>;
}

/** What happens to the current version, and the differences. */
function Release({ of, release: { sourceTime, currentSourceTime, changes, changeTotal } }: ReleaseProps) {
  const isNewest = currentSourceTime === null || sourceTime >= currentSourceTime;
  const { clientCode, propertyCode, resource, key } = of;
  const isAhead = isNewest && Date.parse(sourceTime) > Date.now();
  const replaces = isNewest ? "It replaces the current version" : "It goes into the history";
  const title = currentSourceTime === null ? "It becomes the first version" : replaces;
  return (
    <Section
      title="What a release does"
      aside={
        currentSourceTime !== null &&
        clientCode !== null &&
        propertyCode !== null && (
          <Link to={historyPath({ clientCode, propertyCode }, resource, key)}>History</Link>
        )
      }
    >
      <Notice tone={isAhead ? "warn" : "plain"} title={title}>
        {currentSourceTime !== null && (
          <>
            The current version has the source time <Instant at={currentSourceTime} />
            {isNewest ? ". " : ", which is later: it stays. "}
          </>
        )}
        {isAhead && (
          <>
            Later changes by the sender become current only if their source time is after{" "}
            <Instant at={sourceTime} />.
          </>
        )}
      </Notice>
      {changes === null ? (
        <p className="muted">The versions are too large to be compared here.</p>
      ) : (
        <RecordChanges changes={changes} total={changeTotal} />
      )}
      {currentSourceTime !== null && changeTotal === 0 && changes !== null && (
        <p className="muted">Nothing differs.</p>
      )}
    </Section>
  );
}

type Decision = "release" | "discard";

export function QuarantinedRecordPage({ params }: { params: { requestId: string; index: string } }) {
  const { requestId, index } = params;
  const [isDecided, setDecided] = useState(false);
  const [decision, setDecision] = useState<Decision>();
  const may = useMay();
  const name = `${requestId}/${index}`;
  const asked = useAnswer<QuarantineAnswer>(`quarantine/${name}`, {
    againMs: (answer) => (isDecided && answer?.state === "quarantined" ? DECIDED_RENEWED_MS : undefined),
  });
  return (
    <DetailPage
      title={asked.data?.key ?? `Record ${index}`}
      crumbs={[{ to: "/quarantine", text: "Quarantine" }]}
      asked={asked}
      actions={({ state }) =>
        state === "quarantined" &&
        !isDecided &&
        may("resolve-quarantine") && <DecisionButtons onDecide={setDecision} />
      }
    >
      {(answer) => (
        <>
          <QuarantinedRecord answer={answer} />
          {decision !== undefined && (
            <DecisionDialog
              decision={decision}
              names={[name]}
              onDecided={() => setDecided(true)}
              onClose={() => setDecision(undefined)}
            />
          )}
        </>
      )}
    </DetailPage>
  );
}

function QuarantinedRecord({ answer }: { answer: QuarantineAnswer }) {
  return (
    <>
      {answer.state === "quarantined" ? (
        <Notice tone="warn" title={writeWhy(answer.message)}>
          <code className="small">{answer.code}</code>
        </Notice>
      ) : (
        <Notice
          title={
            answer.state === "released"
              ? "Released: applied verbatim"
              : "Discarded: kept in the log, never applied"
          }
        >
          It was quarantined: {writeWhy(answer.message)}
        </Notice>
      )}
      <Facts
        facts={{
          State: <Badge tone={answer.state === "quarantined" ? "warn" : "plain"}>{answer.state}</Badge>,
          Received: <Instant at={answer.receivedAt} />,
          Decided: answer.resolvedAt && <Instant at={answer.resolvedAt} />,
          Resource: answer.resource,
          Property: <PropertyLink of={answer} />,
          Request: (
            <>
              <RequestLink requestId={answer.requestId} />, record {answer.index}
            </>
          ),
        }}
      />
      {answer.release !== null && <Release of={answer} release={answer.release} />}
      <Section title="Payload">
        <PayloadView
          payload={answer.payload}
          marked={answer.release?.changes?.map(({ pointer }) => pointer) ?? []}
        />
      </Section>
    </>
  );
}

const WORDS: Readonly<Record<Decision, { verb: string; done: string; effect: string }>> = {
  release: {
    verb: "Release",
    done: "released",
    effect: "applied verbatim, at its source time in the history. This cannot be undone.",
  },
  discard: {
    verb: "Discard",
    done: "discarded",
    effect: "never applied. The log keeps it, and its request shows it as discarded. This cannot be undone.",
  },
};

interface Deciding {
  readonly decision: Decision;
  readonly names: readonly string[];
}

function DecisionButtons({ onDecide }: { onDecide: (decision: Decision) => void }) {
  return (
    <>
      <Button kind="main" onClick={() => onDecide("release")}>
        Release…
      </Button>
      <Button kind="danger" onClick={() => onDecide("discard")}>
        Discard…
      </Button>
    </>
  );
}

interface DecisionProps extends Deciding {
  readonly onDecided: (names: readonly string[]) => void;
  readonly onClose: () => void;
}

/** Records per call: a thousand take seconds, and progress stays visible. */
const AT_ONCE = 25;

interface Progress {
  readonly total: number;
  readonly done: readonly string[];
  readonly failed: readonly { readonly record: string; readonly failure: string }[];
  /** Records of the failed call, which may have been decided. */
  readonly unknown: number;
  /** The error that stopped it. */
  readonly error: CallError | null;
  readonly isOver: boolean;
}

/** Confirms once, then decides on the records in order, also while other pages are open. Stays open after a failure. */
function DecisionDialog({ decision, names, onDecided, onClose }: DecisionProps) {
  const { verb, done, effect } = WORDS[decision];
  const isDiscard = decision === "discard";
  const [progress, setProgress] = useState<Progress>();
  const stopping = useRef(new AbortController());
  const isLeft = useRef(false);
  const say = useSay();
  const start = useWork();
  const many = writeMany(names.length, "record");
  const decide = async (form: FormData) => {
    let now: Progress = { total: names.length, done: [], failed: [], unknown: 0, error: null, isOver: false };
    setProgress(now);
    await start(`${verb} ${many}`, async (report, signal) => {
      report({ done: 0, of: names.length });
      const isStopped = () => signal.aborted || stopping.current.signal.aborted;
      for (let at = 0; at < names.length && now.error === null && !isStopped(); at += AT_ONCE) {
        now = await decideOn(decision, names.slice(at, at + AT_ONCE), form, now);
        setProgress(now);
        report({ done: now.done.length + now.failed.length, of: names.length });
      }
    });
    setProgress({ ...now, isOver: true });
    if (now.done.length > 0) onDecided(now.done);
    if (now.done.length === names.length) {
      say(`${many} ${done}.`);
      if (!isLeft.current) onClose();
    } else if (isLeft.current) say(writeOutcome({ ...now, isOver: true }, done));
  };
  const leave = () => {
    isLeft.current = true;
    onClose();
  };
  if (progress !== undefined)
    return (
      <Dialog title={`${verb} ${many}`} onClose={leave}>
        <Outcome progress={progress} done={done}>
          {progress.isOver ? (
            <Button onClick={onClose}>Close</Button>
          ) : (
            <>
              <Button onClick={leave}>Continue in the background</Button>
              <Button onClick={() => stopping.current.abort()}>Stop</Button>
            </>
          )}
        </Outcome>
      </Dialog>
    );
  return (
    <Dialog title={`${verb} ${names.length === 1 ? "this record" : many}?`} onClose={onClose}>
      <p className="muted">
        {names.length === 1 ? "It" : "Each"} is {effect}
      </p>
      <Form
        className="stack"
        button={names.length === 1 ? verb : `${verb} ${many}`}
        danger={isDiscard}
        onSubmit={decide}
        actions={() => <Button onClick={onClose}>Cancel</Button>}
      >
        <ReasonField required={isDiscard} />
      </Form>
    </Dialog>
  );
}

/** `59 of 60 records released, 1 failed.` */
function writeOutcome({ total, done: decided, failed, unknown, isOver }: Progress, done: string): string {
  const left = total - decided.length - failed.length - unknown;
  return [
    `${writeCount(decided.length)} of ${writeMany(total, "record")} ${done}`,
    failed.length > 0 ? `, ${writeCount(failed.length)} failed` : "",
    unknown > 0 ? `, ${writeCount(unknown)} of unknown outcome` : "",
    isOver && left > 0 ? `, ${writeCount(left)} not tried` : "",
    ".",
  ].join("");
}

/** The progress after more records. An error that does not concern one record ends it. */
async function decideOn(
  decision: Decision,
  some: readonly string[],
  form: FormData,
  before: Progress,
): Promise<Progress> {
  try {
    const body = { records: some, reason: typed(form, "reason") || undefined };
    const { records } = await post<ResolveAnswer>(`quarantine/${decision}`, body, WAIT_SECONDS);
    const done = records.flatMap(({ record, failure }) => (failure === null ? [record] : []));
    const failed = records.flatMap(({ record, failure }) => (failure === null ? [] : [{ record, failure }]));
    return { ...before, done: [...before.done, ...done], failed: [...before.failed, ...failed] };
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    if (error.status !== 404 && error.status !== 409) return { ...before, error, unknown: some.length };
    const failed = some.map((record) => ({ record, failure: error.message }));
    return { ...before, failed: [...before.failed, ...failed] };
  }
}

interface OutcomeProps {
  readonly progress: Progress;
  readonly done: string;
  readonly children: ReactNode;
}

function Outcome({ progress, done, children }: OutcomeProps) {
  const { total, done: decided, failed, error } = progress;
  return (
    <div className="stack">
      <progress aria-label="Progress" max={total} value={decided.length + failed.length} />
      <p role="status">{writeOutcome(progress, done)}</p>
      <Failure error={error} />
      {failed.length > 0 && (
        <Table
          caption="Records that failed"
          rows={failed}
          keyOf={({ record }) => record}
          columns={[
            {
              head: "Record",
              lead: true,
              cell: ({ record }) => (
                <Link
                  to={`/quarantine/${record}`}
                >{`${shortId(record.slice(0, 36))} ${record.slice(36)}`}</Link>
              ),
            },
            { head: "Why", prose: true, cell: ({ failure }) => failure },
          ]}
        />
      )}
      <div className="form-actions">{children}</div>
    </div>
  );
}
