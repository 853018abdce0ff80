import type { AnchorHTMLAttributes, MouseEvent } from "react";
import { go, hrefOf } from "./address.ts";

interface LinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href"> {
  /** An address of the console: `/requests?outcome=failed`. */
  readonly to: string;
}

/** A link within the console: a real one, so that it opens in a tab of its own as any other. */
export function Link({ to, onClick, ...rest }: LinkProps) {
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    const elsewhere = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0;
    if (event.defaultPrevented || elsewhere) return;
    event.preventDefault();
    go(to);
  };
  return <a {...rest} href={hrefOf(to)} onClick={follow} />;
}
