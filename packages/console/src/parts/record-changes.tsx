import type { JsonChange } from "../contract.ts";
import {
  isDecimal,
  isStayDate,
  subtractMoney,
  writeDate,
  writeSigned,
  writeSignedMoney,
  writeValue,
} from "../field/format.ts";

/** Change with every delivery and say nothing about the booking. */
const NOISE: ReadonlySet<string> = new Set(["correlationId", "createDateTime", "lastModifiedDateTime"]);

interface RecordChangesProps {
  readonly changes: readonly JsonChange[];
  /** The number of changes, including those not in `changes`. */
  readonly total: number;
}

/** The differences between two versions: fields of the same night or stay together, delivery fields last. */
export function RecordChanges({ changes, total }: RecordChangesProps) {
  if (changes.length === 0) return null;
  const blocks = Map.groupBy(changes, ({ path }) =>
    NOISE.has(path.at(-1) ?? "") ? "noise" : JSON.stringify(path.slice(0, -1)),
  );
  const noise = blocks.get("noise");
  blocks.delete("noise");
  return (
    <dl className="changes">
      {[...blocks].map(([parent, leaves]) => (
        <Block key={parent} leaves={leaves} />
      ))}
      {noise !== undefined && <Block leaves={noise} />}
      {total > changes.length && <p className="muted">… and {total - changes.length} more</p>}
    </dl>
  );
}

function Block({ leaves }: { leaves: readonly JsonChange[] }) {
  const parent = leaves[0]?.path.slice(0, -1) ?? [];
  if (parent.length === 0)
    return leaves.map((leaf) => <Leaf key={leaf.pointer} leaf={leaf} name={nameOf(leaf)} />);
  const name = parent.map(writeName).join(" › ");
  const side = (["before", "after"] as const).find((each) => leaves.every((leaf) => leaf[each] === null));
  if (side === undefined)
    return leaves.map((leaf) => <Leaf key={leaf.pointer} leaf={leaf} name={`${name} › ${nameOf(leaf)}`} />);
  const Mark = side === "before" ? "ins" : "del";
  // Its name includes the night.
  const listed = leaves.filter((leaf) => !parent.includes(writeValue(leaf.after ?? leaf.before ?? "")));
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <span className="muted">{side === "before" ? "added" : "removed"}</span>{" "}
        <Mark>
          {listed.map((leaf) => `${nameOf(leaf)} ${writeValue(leaf.after ?? leaf.before ?? "")}`).join(", ")}
        </Mark>
      </dd>
    </div>
  );
}

function Leaf({ leaf: { before, after }, name }: { leaf: JsonChange; name: string }) {
  const isMoved = before !== null && after !== null && isDecimal(before) && isDecimal(after);
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {before === null ? <span className="muted">absent</span> : <del>{writeValue(before)}</del>}
        {" → "}
        {after === null ? <span className="muted">removed</span> : <ins>{writeValue(after)}</ins>}
        {isMoved && <span className="muted"> ({writeSignedNumber(subtractMoney(after, before))})</span>}
      </dd>
    </div>
  );
}

const nameOf = ({ path }: JsonChange) => writeName(path.at(-1) ?? "whole record");

function writeName(name: string): string {
  const [night = "", ...rest] = name.split(" ");
  return isStayDate(night) ? [writeDate(night), ...rest].join(" ") : name;
}

function writeSignedNumber(text: string): string {
  return text.includes(".") ? writeSignedMoney(text) : writeSigned(Number(text));
}
