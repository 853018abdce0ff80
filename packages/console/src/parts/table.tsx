import type { ReactNode } from "react";

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => ReactNode;
  /** Figures stand at the end of their column. */
  readonly end?: boolean;
  /** Names the row: a row header, and at phone width the head of its sheet. */
  readonly lead?: boolean;
  /** Sentences: at phone width below their head, not beside it. */
  readonly prose?: boolean;
  /** What can be done with the row; its button says what, so the head is for those who do not see it. */
  readonly action?: boolean;
}

export interface TableProps<Row> {
  /** What the table lists, for those who do not see where it stands. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly rowClass?: (row: Row) => string | undefined;
  /** At phone width: sheets (the default), or columns that scroll sideways, for figures that are compared. */
  readonly narrow?: "sheets" | "scroll";
}

/** Rows in columns. Roles are spelt out, as a browser drops them where the style makes sheets of the rows. */
export function Table<Row>({ caption, columns, rows, keyOf, rowClass, narrow = "sheets" }: TableProps<Row>) {
  const table = (
    // biome-ignore-start lint/a11y/noRedundantRoles: the style for phones would take them away
    <table className={narrow} role="table">
      <caption className="unseen">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ head, end, action }) => (
            <th key={head} scope="col" role="columnheader" className={end ? "end" : undefined}>
              {action ? <span className="unseen">{head}</span> : head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={keyOf(row)} role="row" className={rowClass?.(row)}>
            {columns.map((column) => (
              <Cell key={column.head} column={column} row={row} />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
    // biome-ignore-end lint/a11y/noRedundantRoles: as above
  );
  return narrow === "scroll" ? (
    <Scroll label={caption}>{table}</Scroll>
  ) : (
    <div className="table-frame">{table}</div>
  );
}

function Cell<Row>({ column, row }: { readonly column: Column<Row>; readonly row: Row }) {
  const content = column.cell(row);
  const isVoid = content === null || content === "" || content === undefined;
  const names = [
    column.end ? "end" : "",
    column.lead ? "lead-cell" : "",
    column.prose ? "prose" : "",
    isVoid ? "void" : "",
  ];
  const className = names.filter((name) => name !== "").join(" ") || undefined;
  return column.lead ? (
    // biome-ignore lint/a11y/noRedundantRoles: the style for phones would take it away
    <th scope="row" role="rowheader" className={className} data-head={column.head}>
      {content}
    </th>
  ) : (
    // biome-ignore lint/a11y/noRedundantRoles: the style for phones would take it away
    <td role="cell" className={className} data-head={column.action ? "" : column.head}>
      {content}
    </td>
  );
}

/** What may be wider than the screen scrolls by itself, by keyboard too. */
export function Scroll({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard (WCAG 2.1.1)
    <section className="table-frame" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
