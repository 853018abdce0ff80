import type { AnchorHTMLAttributes, MouseEvent } from "react";
import { go, hrefOf } from "./address.ts";
import type { Trail } from "./trail.ts";

interface LinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href"> {
  /** An address of the console: `/requests?outcome=failed`. */
  readonly to: string;
  /** Of a list that it turns. */
  readonly trail?: Trail;
  /** It is followed here, not into a tab of its own. */
  readonly onFollow?: (link: HTMLAnchorElement) => void;
}

/** A link within the console: a real one, so that it opens in a tab of its own as any other. */
export function Link({ to, trail, onFollow, onClick, ...rest }: LinkProps) {
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    const elsewhere = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0;
    if (event.defaultPrevented || elsewhere) return;
    event.preventDefault();
    onFollow?.(event.currentTarget);
    go(to, "push", trail);
  };
  return <a {...rest} href={hrefOf(to)} onClick={follow} />;
}
