import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";
import type { PropertyCodes } from "../../contract.ts";
import { propertyPath } from "../../field/property-path.ts";
import { LinkButton } from "../../parts/button.tsx";
import { Page } from "../../parts/page.tsx";
import { Empty } from "../../parts/states.tsx";
import { useFilters } from "../../routing/filters.ts";

const TABS: readonly (readonly [path: string, text: string])[] = [
  ["/property", "On the books"],
  ["/property/pace", "Pace"],
  ["/property/pickup", "Pickup"],
  ["/property/blocks", "Blocks"],
  ["/property/reconciliation", "Reconciliation"],
  ["/property/calendar", "Feeds and nights"],
];

interface PropertyPageProps {
  /** What the tab shows, for the title of the window. */
  readonly title: string;
  readonly lead: string;
  readonly actions?: ReactNode;
  readonly children: (codes: PropertyCodes) => ReactNode;
}

/** The frame of every page of a property. */
export function PropertyPage({ title, lead, actions, children }: PropertyPageProps) {
  const codes = useCodes();
  const [path] = useLocation();
  if (codes === undefined)
    return (
      <Page title="Property" crumbs={[{ to: "/properties", text: "Properties" }]}>
        <Empty title="Which property?" actions={<LinkButton to="/properties">Properties</LinkButton>}>
          The address names no client code and property code.
        </Empty>
      </Page>
    );
  const name = `${codes.clientCode} / ${codes.propertyCode}`;
  return (
    <Page
      title={`${title} of ${name}`}
      heading={name}
      lead={lead}
      crumbs={[{ to: "/properties", text: "Properties" }]}
      actions={
        <>
          <LinkButton to={propertyPath("/settings", codes)}>Settings</LinkButton>
          {actions}
        </>
      }
    >
      <nav className="tabs" aria-label={name} ref={showCurrent}>
        {TABS.map(([to, text]) => (
          <Link key={to} to={propertyPath(to, codes)} aria-current={to === path ? "page" : undefined}>
            {text}
          </Link>
        ))}
      </nav>
      {children(codes)}
    </Page>
  );
}

/** On a phone the tabs scroll, and the one that is open may be the last. */
function showCurrent(tabs: HTMLElement | null): void {
  const current = tabs?.querySelector<HTMLElement>("[aria-current]");
  if (tabs === null || current === null || current === undefined) return;
  tabs.scrollLeft = current.offsetLeft - tabs.offsetLeft - 16;
}

/** The property of the address. */
export function useCodes(): PropertyCodes | undefined {
  const { filters } = useFilters();
  const clientCode = filters.get("clientCode");
  const propertyCode = filters.get("propertyCode");
  return clientCode === null || propertyCode === null ? undefined : { clientCode, propertyCode };
}
