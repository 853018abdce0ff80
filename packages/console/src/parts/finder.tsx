import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Icon, type IconName } from "./button.tsx";
import { useModal } from "./dialog.tsx";

export interface FinderItem {
  /** Unique in the list. */
  readonly id: string;
  readonly text: string;
  readonly note?: string | undefined;
  readonly icon: IconName;
  /** Currently open. */
  readonly isHere?: boolean;
  readonly choose: () => void;
}

export interface FinderGroup {
  readonly title: string;
  readonly items: readonly FinderItem[];
}

interface FinderProps {
  readonly label: string;
  readonly placeholder: string;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly groups: readonly FinderGroup[];
  /** A response is pending. */
  readonly busy: boolean;
  readonly empty: ReactNode;
  /** Below the list. */
  readonly note?: ReactNode;
  readonly onClose: () => void;
}

/** A search field with a list in a dialog: typing narrows the list, arrows move, Enter chooses. */
export function Finder(props: FinderProps) {
  const { label, placeholder, text, onText, groups, busy, empty, note, onClose } = props;
  const dialog = useModal();
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const [chosenId, setChosen] = useState<string>();
  const items = groups.flatMap((group) => group.items);
  // The first item unless another is selected and still listed.
  const place = Math.max(
    items.findIndex((item) => item.id === chosenId),
    0,
  );
  const current = items[place];
  // biome-ignore lint/correctness/useExhaustiveDependencies: another choice scrolls to it
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [current?.id]);
  const choose = (item: FinderItem | undefined) => {
    if (item === undefined) return;
    onClose();
    item.choose();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: place + 1,
      ArrowUp: place - 1 + items.length,
      PageDown: Math.min(place + 8, items.length - 1),
      PageUp: Math.max(place - 8, 0),
    };
    const to = moves[event.key];
    if (to !== undefined && items.length > 0) setChosen(items[to % items.length]?.id);
    else if (event.key === "Enter" && !event.nativeEvent.isComposing) choose(current);
    else return;
    event.preventDefault();
  };
  const optionId = (item: FinderItem) => `${id}-${items.indexOf(item)}`;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog
    <dialog
      ref={dialog}
      className="finder"
      aria-label={label}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <div className="finder-field">
        <Icon name="search" size={16} />
        <input
          role="combobox"
          aria-label={label}
          aria-expanded={items.length > 0}
          aria-controls={`${id}-list`}
          aria-activedescendant={current === undefined ? undefined : optionId(current)}
          aria-autocomplete="list"
          autoComplete="off"
          spellCheck={false}
          enterKeyHint="go"
          placeholder={placeholder}
          value={text}
          onChange={(event) => {
            setChosen(undefined);
            onText(event.target.value);
          }}
          onKeyDown={onKeyDown}
        />
        <button type="button" className="finder-close" onClick={onClose}>
          <kbd>Esc</kbd>
          <Icon name="close" size={18} />
          <span className="unseen"> Close</span>
        </button>
      </div>
      <div ref={list} className="finder-list" aria-busy={busy} data-empty={items.length === 0 || undefined}>
        <div id={`${id}-list`} role="listbox" aria-label={label}>
          {groups.map((group, at) => (
            // biome-ignore lint/a11y/useSemanticElements: a group of options
            <div key={group.title} role="group" aria-labelledby={`${id}-group-${at}`}>
              <div id={`${id}-group-${at}`} role="presentation" className="finder-title">
                {group.title}
              </div>
              {group.items.map((item) => (
                // biome-ignore lint/a11y/useKeyWithClickEvents: keys are the field's
                // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus
                <div
                  key={item.id}
                  id={optionId(item)}
                  role="option"
                  aria-selected={item === current}
                  onClick={() => choose(item)}
                  onMouseMove={() => item !== current && setChosen(item.id)}
                >
                  <Icon name={item.icon} size={16} />
                  <span className="finder-text">
                    <strong>{item.text}</strong>
                    {item.note !== undefined && item.note !== "" && <span>{item.note}</span>}
                  </span>
                  {item.isHere === true && <span className="finder-here">open</span>}
                </div>
              ))}
            </div>
          ))}
        </div>
        {items.length === 0 && <div className="finder-empty">{busy ? "Searching…" : empty}</div>}
      </div>
      <div className="finder-foot">
        <span aria-hidden="true">
          <kbd>↑</kbd> <kbd>↓</kbd> move
        </span>
        <span aria-hidden="true">
          <kbd>Enter</kbd> open
        </span>
        <span className="finder-note">{note}</span>
      </div>
      <p className="unseen" role="status">
        {busy ? "" : `${items.length} results`}
      </p>
    </dialog>
  );
}
