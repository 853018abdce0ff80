import type { LabelItem, LabelsAnswer } from "../../contract.ts";
import { addressOf, tell } from "../../data/call.ts";
import { useAnswer } from "../../data/queries.ts";
import { writeCount, writeMany } from "../../field/amounts.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { Choice } from "../../parts/field.tsx";
import { Section } from "../../parts/page.tsx";
import { Pager } from "../../parts/pager.tsx";
import { Answered, Empty, Failure, Notice } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { useSay } from "../../parts/toast.tsx";
import { type Deed, useDeed } from "../../parts/use-deed.ts";
import { useFilters } from "../../routing/filters.ts";

const LIMIT = 50;

/** What the status labels of a client code mean: whether rooms under them are on the books. */
export function Labels({ clientCode }: { readonly clientCode: string }) {
  const { filters, change } = useFilters();
  const by = filters.get("labels") === "unmapped" ? "unmapped" : undefined;
  const asked = useAnswer<LabelsAnswer>(
    addressOf("labels", { clientCode, by, cursor: filters.get("cursor") ?? undefined, limit: LIMIT }),
  );
  const deed = useDeed();
  return (
    <Section
      title={`Status labels of ${clientCode}`}
      aside={<p>A label that deducts holds rooms on the books.</p>}
    >
      <Failure error={deed.error} />
      <Answered asked={asked} lines={6}>
        {({ items, nextCursor, unmapped }) => (
          <>
            <UnmappedNotice {...unmapped} />
            <search className="filters">
              <Choice
                label="Labels"
                value={by ?? "all"}
                options={[
                  ["all", "All"],
                  ["unmapped", "Unmapped"],
                ]}
                onChange={(next) => change({ labels: next === "unmapped" ? next : undefined })}
              />
            </search>
            {items.length === 0 ? (
              <Empty
                title={by === undefined ? "No record carries a label yet" : "Every label means something"}
              />
            ) : (
              <LabelTable clientCode={clientCode} items={items} deed={deed} onDone={asked.refetch} />
            )}
            <Pager nextCursor={nextCursor} shown={writeMany(items.length, "label")} />
          </>
        )}
      </Answered>
    </Section>
  );
}

function UnmappedNotice({ labels, records }: LabelsAnswer["unmapped"]) {
  if (labels === 0) return null;
  return (
    <Notice tone="warn" title={`${writeMany(labels, "label means", "labels mean")} nothing yet`}>
      {writeMany(records, "record")} under {labels === 1 ? "it" : "them"} {records === 1 ? "is" : "are"} not
      on the books until you say whether {labels === 1 ? "it deducts" : "they deduct"}.
    </Notice>
  );
}

interface LabelTableProps {
  readonly clientCode: string;
  readonly items: readonly LabelItem[];
  readonly deed: Deed;
  readonly onDone: () => void;
}

function LabelTable({ clientCode, items, deed, onDone }: LabelTableProps) {
  const say = useSay();
  const send = (path: "labels/set" | "labels/unset", { resource, label }: LabelItem, deducts?: boolean) =>
    deed.run(async () => {
      const request = {
        clientCode,
        resource,
        label,
        ...(deducts === undefined ? {} : { deducts }),
      };
      await tell<LabelsAnswer>(path, request);
      say(`${label} is changed.`);
      onDone();
    });
  return (
    <Table
      caption={`Status labels of ${clientCode}`}
      rows={items}
      keyOf={({ resource, label }) => `${resource} ${label}`}
      columns={[
        { head: "Label", lead: true, cell: ({ label }) => <span className="break">{label}</span> },
        { head: "Resource", cell: ({ resource }) => resource },
        { head: "Current records", end: true, cell: ({ records }) => writeCount(records) },
        { head: "Known as", cell: ({ canonical }) => canonical ?? <span className="muted">–</span> },
        { head: "Said by", cell: ({ by }) => <SaidBy by={by} /> },
        {
          head: "Deducts",
          cell: (item) => (
            <Choice
              label={`Whether ${item.label} deducts`}
              labelUnseen
              value={item.by === "unmapped" ? "" : item.deducts ? "yes" : "no"}
              options={[
                ["yes", "Yes"],
                ["no", "No"],
              ]}
              onChange={(next) => send("labels/set", item, next === "yes")}
            />
          ),
        },
        {
          head: "Change",
          end: true,
          action: true,
          cell: (item) =>
            item.by === "mapping" ? (
              <Button kind="quiet" busy={deed.busy} onClick={() => send("labels/unset", item)}>
                Take it back
              </Button>
            ) : null,
        },
      ]}
    />
  );
}

function SaidBy({ by }: { readonly by: LabelItem["by"] }) {
  if (by === "unmapped") return <Badge tone="warn">unmapped</Badge>;
  return by === "mapping" ? <Badge tone="accent">mapping</Badge> : <span className="muted">default</span>;
}
