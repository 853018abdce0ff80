/** An item as a database row, with Date values, which JSON serializes as strings. */
export type Row<Item> = {
  readonly [Key in keyof Item]: Key extends `${string}At` | `${string}Since`
    ? Date | Extract<Item[Key], null>
    : Item[Key];
};
