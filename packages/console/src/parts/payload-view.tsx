import { useEffect, useMemo, useRef } from "react";
import type { Payload } from "../contract.ts";
import { writeCount } from "../field/format.ts";
import { layOutJson } from "../field/json-lines.ts";

interface PayloadViewProps {
  readonly payload: Payload;
  /** RFC 6901, into the record: its lines are marked. */
  readonly marked?: readonly string[];
}

/** A record as it was sent, laid out in lines without touching a value. */
export function PayloadView({ payload, marked = [] }: PayloadViewProps) {
  const lines = useMemo(() => layOutJson(payload.text), [payload.text]);
  const first = useRef<HTMLLIElement>(null);
  const firstMarked = lines.findIndex(({ pointer }) => marked.includes(pointer));
  useEffect(() => {
    if (firstMarked > 12) first.current?.scrollIntoView({ block: "nearest" });
  }, [firstMarked]);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard */}
      <section className="payload mono" aria-label="The record as it was sent" tabIndex={0}>
        <ol>
          {lines.map((line, place) => (
            <li
              key={line.at}
              ref={place === firstMarked ? first : undefined}
              data-marked={marked.includes(line.pointer) ? "" : undefined}
            >
              {"  ".repeat(line.depth)}
              {line.name === undefined ? null : <span className="name">{line.name}: </span>}
              {line.text}
            </li>
          ))}
        </ol>
      </section>
      <p className="small muted">
        {writeCount(payload.bytes)} bytes{payload.truncated ? ", of which the beginning is shown" : ""}
      </p>
    </>
  );
}
