import { LinkButton } from "../parts/button.tsx";
import { Page } from "../parts/page.tsx";
import { Empty } from "../parts/states.tsx";

export function NotFoundPage() {
  return (
    <Page title="No such page">
      <Empty title="There is nothing at this address" actions={<LinkButton to="/">Live intake</LinkButton>}>
        The link may be cut short or of another version of the console.
      </Empty>
    </Page>
  );
}
