import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import { useSearch } from "wouter/use-browser-location";
import type { PropertyCodes, SearchAnswer } from "../contract.ts";
import { addressOf, useAnswer, useMay } from "../data/queries.ts";
import { useRecent } from "../data/recent.ts";
import {
  historyPath,
  namesOf,
  propertyPath,
  shortId,
  writeAgo,
  writeCount,
  writeMany,
} from "../field/format.ts";
import { Icon } from "../parts/button.tsx";
import { Finder, type FinderGroup, type FinderItem } from "../parts/finder.tsx";
import { withChanges } from "../routing/filters.ts";
import { useLogOut } from "./log-out.ts";
import { PROPERTY_TABS, useGroups } from "./places.ts";

const SETTLED_MS = 120;
const RECENT_SHOWN = 6;
const PAGES_FOUND_MAX = 6;
const ID_LENGTH = 36;
const NOTHING: SearchAnswer = { properties: [], propertyTotal: 0, clients: [], requests: [], records: [] };

/** Results of the service once typing pauses; until then the previous ones. */
function useFound(text: string, of?: "properties"): { readonly found: SearchAnswer; readonly busy: boolean } {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), text === "" ? 0 : SETTLED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const { data, isOld } = useAnswer<SearchAnswer>(addressOf("search", { text: settled, of }), {
    keeps: true,
  });
  return { found: data ?? NOTHING, busy: settled !== text || isOld || data === undefined };
}

const isMac = /Mac|iP(hone|ad)/.test(navigator.platform);

/** The search field of the shell. Ctrl K or Command K also opens the search, even while typing. */
export function SearchButton({ onKeys }: { onKeys: () => void }) {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (
        event.key.toLowerCase() !== "k" ||
        !(event.metaKey || event.ctrlKey) ||
        event.altKey ||
        event.shiftKey
      )
        return;
      event.preventDefault();
      if (document.querySelector("dialog[open]") === null) setOpen(true);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return (
    <>
      <button type="button" className="search-field" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        <Icon name="search" />
        <span>Search</span>
        <kbd>{isMac ? "⌘K" : "Ctrl K"}</kbd>
      </button>
      {open && <Search onKeys={onKeys} onClose={() => setOpen(false)} />}
    </>
  );
}

function Search({ onKeys, onClose }: { onKeys: () => void; onClose: () => void }) {
  const [text, setText] = useState("");
  const wanted = text.trim();
  const { found, busy } = useFound(wanted);
  const [, navigate] = useLocation();
  const { ofProperty, ofConsole, codes } = usePages(onKeys);
  const here = `${useLocation()[0]}?${useSearch()}`;
  const { visits } = useRecent();
  const opening = (to: string, rest: Omit<FinderItem, "id" | "choose">): FinderItem => ({
    ...rest,
    id: to,
    choose: () => navigate(to),
  });
  const groups: readonly FinderGroup[] =
    wanted === ""
      ? [
          {
            title: "Recent",
            items: visits()
              .filter(({ to }) => to !== here && to !== here.slice(0, -1) && to !== codes?.to)
              .slice(0, RECENT_SHOWN)
              .map(({ to, ...rest }) => opening(to, { ...rest, icon: "recent" })),
          },
          { title: codes?.text ?? "", items: ofProperty },
          { title: "Go to", items: ofConsole },
        ]
      : [
          {
            title: "Pages and actions",
            items: matching([...ofProperty, ...ofConsole], wanted).slice(0, PAGES_FOUND_MAX),
          },
          {
            title: "Reservations and groups",
            items: found.records.map((record) =>
              opening(historyPath(record, record.resource, record.key), {
                text: record.key,
                note: `${record.resource === "groups" ? "group" : "reservation"} of ${record.clientCode} / ${record.propertyCode}`,
                icon: "record",
              }),
            ),
          },
          {
            title: "Properties",
            items: [
              ...found.properties.map((property) =>
                opening(propertyPath("/property", property), { ...namesOf(property), icon: "property" }),
              ),
              ...(found.propertyTotal > found.properties.length
                ? [
                    opening(`/?${new URLSearchParams({ search: wanted })}`, {
                      text: `All ${writeCount(found.propertyTotal)} in the portfolio`,
                      icon: "search",
                    }),
                  ]
                : []),
            ],
          },
          {
            title: "Clients",
            items: found.clients.map(({ clientId, name }) =>
              opening(`/clients/${clientId}`, { text: name, note: clientId, icon: "client" }),
            ),
          },
          {
            title: "Requests",
            items: found.requests.map(({ requestId, resource, receivedAt, clientName, counts }) =>
              opening(`/requests/${requestId}`, {
                text: wanted.length > ID_LENGTH / 2 ? requestId : shortId(requestId),
                note: `${writeMany(counts.records, "record")} of ${resource}${clientName === null ? "" : `, ${clientName}`}, ${writeAgo(receivedAt)}`,
                icon: "request",
              }),
            ),
          },
        ];
  return (
    <Finder
      label="Search"
      placeholder="Property, client, page, request or reservation"
      text={text}
      onText={setText}
      busy={wanted !== "" && busy}
      groups={groups.filter(({ items }) => items.length > 0)}
      empty={
        <>
          <strong>Nothing is called “{wanted}”</strong>
          <span>Reservations and groups are found by their whole id, requests by how theirs begins.</span>
        </>
      }
      onClose={onClose}
    />
  );
}

interface Pages {
  /** Actions for the property of the open page. */
  readonly codes: { readonly text: string; readonly to: string } | undefined;
  readonly ofProperty: readonly FinderItem[];
  /** Actions available everywhere. */
  readonly ofConsole: readonly FinderItem[];
}

function usePages(onKeys: () => void): Pages {
  const [path, navigate] = useLocation();
  const search = new URLSearchParams(useSearch());
  const may = useMay();
  const [clientCode, propertyCode] = [search.get("clientCode"), search.get("propertyCode")];
  const isOfProperty = /^\/(property|history)(\/|$)/.test(path);
  const codes =
    isOfProperty && clientCode !== null && propertyCode !== null ? { clientCode, propertyCode } : undefined;
  const page = (to: string, text: string, note?: string): FinderItem => ({
    id: to,
    text,
    note,
    icon: "page",
    isHere: to.split("?", 1)[0] === path,
    choose: () => navigate(to),
  });
  const action = (text: string, choose: () => void): FinderItem => ({
    id: text,
    text,
    icon: "action",
    choose,
  });
  return {
    codes: codes && {
      text: `${codes.clientCode} / ${codes.propertyCode}`,
      to: propertyPath("/property", codes),
    },
    ofProperty:
      codes === undefined ? [] : PROPERTY_TABS.map(([to, text]) => page(propertyPath(to, codes), text)),
    ofConsole: [
      ...useGroups().flatMap(({ title, places }) => places.map(({ to, text }) => page(to, text, title))),
      ...(may("manage-clients") ? [page("/clients/new", "New client", "Partners")] : []),
      page("/account", "Your account"),
      action("Keyboard shortcuts", onKeys),
      action("Documentation", () => window.location.assign("/docs")),
      action("Log out", useLogOut()),
    ],
  };
}

/** Items with words that begin with those of the text, in any order. */
function matching(items: readonly FinderItem[], wanted: string): readonly FinderItem[] {
  const words = wanted.toLowerCase().split(/\s+/);
  return items.filter(({ text, note = "" }) => {
    const own = text.toLowerCase().split(" ");
    const any = [...own, ...note.toLowerCase().split(/[ /]+/)];
    return (
      words.every((word) => any.some((each) => each.startsWith(word))) &&
      words.some((word) => own.some((each) => each.startsWith(word)))
    );
  });
}

/** Opens another property on the same page, with the same dates and filters. */
export function PropertySwitcher({ codes }: { codes: PropertyCodes }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        className="switcher"
        aria-haspopup="dialog"
        title="Switch property"
        onClick={() => setOpen(true)}
      >
        <Icon name="switch" size={16} />
        <span className="unseen">Switch property</span>
      </button>
      {open && <Switch codes={codes} onClose={() => setOpen(false)} />}
    </>
  );
}

/** Opens another property on the same page. */
function Switch({ codes, onClose }: { codes: PropertyCodes; onClose: () => void }) {
  const [path, navigate] = useLocation();
  const search = useSearch();
  return (
    <PropertyFinder
      label="Switch property"
      note="Dates and filters stay as they are"
      here={codes}
      onChoose={({ clientCode, propertyCode }) =>
        navigate(withChanges(path, search, { clientCode, propertyCode }))
      }
      onClose={onClose}
    />
  );
}

interface PropertyFinderProps {
  readonly label: string;
  readonly note: string;
  /** The property of the page. */
  readonly here: PropertyCodes;
  readonly onChoose: (codes: PropertyCodes) => void;
  readonly onClose: () => void;
}

/** Finds a property by code, name or city. */
export function PropertyFinder({ label, note, here, onChoose, onClose }: PropertyFinderProps) {
  const [text, setText] = useState("");
  const { found, busy } = useFound(text.trim(), "properties");
  const { visits } = useRecent();
  const itemOf = (
    { clientCode, propertyCode }: PropertyCodes,
    rest: Pick<FinderItem, "text" | "note" | "icon">,
  ): FinderItem => ({
    ...rest,
    id: JSON.stringify([rest.icon, clientCode, propertyCode]),
    isHere: clientCode === here.clientCode && propertyCode === here.propertyCode,
    choose: () => onChoose({ clientCode, propertyCode }),
  });
  const recent = visits().flatMap(({ to, ...rest }) => {
    const of = new URLSearchParams(to.startsWith("/property?") ? to.slice("/property?".length) : "");
    const [clientCode, propertyCode] = [of.get("clientCode"), of.get("propertyCode")];
    if (clientCode === null || propertyCode === null) return [];
    const item = itemOf({ clientCode, propertyCode }, { ...rest, icon: "recent" });
    return item.isHere === true ? [] : [item];
  });
  const groups = [
    { title: "Recent", items: text.trim() === "" ? recent.slice(0, RECENT_SHOWN) : [] },
    {
      title: "Properties",
      items: found.properties.map((property) => itemOf(property, { ...namesOf(property), icon: "property" })),
    },
  ];
  const more = found.propertyTotal - found.properties.length;
  return (
    <Finder
      label={label}
      placeholder="Code, name or city"
      text={text}
      onText={setText}
      busy={busy}
      groups={groups.filter(({ items }) => items.length > 0)}
      empty={<strong>No property matches</strong>}
      note={more > 0 ? `${writeCount(more)} more match` : note}
      onClose={onClose}
    />
  );
}
