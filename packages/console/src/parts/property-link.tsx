import { Link } from "wouter";
import { propertyPath } from "../field/property-path.ts";
import { Word } from "./word.tsx";

interface PropertyLinkProps {
  /** Null: the record could not be read so far. */
  readonly clientCode: string | null;
  readonly propertyCode: string | null;
}

/** To the property that a record names. */
export function PropertyLink({ clientCode, propertyCode }: PropertyLinkProps) {
  if (clientCode === null || propertyCode === null) return <span className="muted">not read</span>;
  return (
    <Link to={propertyPath("/property", { clientCode, propertyCode })}>
      <Word>{`${clientCode} / ${propertyCode}`}</Word>
    </Link>
  );
}
