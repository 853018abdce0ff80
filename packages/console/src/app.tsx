import { SessionProvider, useSession } from "./data/session.tsx";
import { AccountPage } from "./pages/account.tsx";
import { AuditPage } from "./pages/audit.tsx";
import { BackfillPage } from "./pages/backfill.tsx";
import { BackfillsPage } from "./pages/backfills.tsx";
import { ClientPage } from "./pages/client.tsx";
import { ClientsPage } from "./pages/clients.tsx";
import { HeldRecordPage } from "./pages/held-record.tsx";
import { HistoryPage } from "./pages/history.tsx";
import { IntakePage } from "./pages/intake.tsx";
import { LogInPage } from "./pages/log-in.tsx";
import { NewClientPage } from "./pages/new-client.tsx";
import { NotFoundPage } from "./pages/not-found.tsx";
import { PropertiesPage } from "./pages/properties.tsx";
import { BlocksPage } from "./pages/property/blocks.tsx";
import { CalendarPage } from "./pages/property/calendar.tsx";
import { OnTheBooksPage } from "./pages/property/on-the-books.tsx";
import { PacePage } from "./pages/property/pace.tsx";
import { PickupPage } from "./pages/property/pickup.tsx";
import { ReconciliationPage } from "./pages/property/reconciliation.tsx";
import { QuarantinePage } from "./pages/quarantine.tsx";
import { RecordPage } from "./pages/record.tsx";
import { RequestPage } from "./pages/request.tsx";
import { RequestsPage } from "./pages/requests.tsx";
import { SettingsPage } from "./pages/settings.tsx";
import { WebhookPage } from "./pages/webhook.tsx";
import { WebhooksPage } from "./pages/webhooks.tsx";
import { Failure, Waiting } from "./parts/states.tsx";
import { ToastProvider } from "./parts/toast.tsx";
import { usePath } from "./routing/address.ts";
import { findRoute, type Route } from "./routing/routes.tsx";
import { Shell } from "./shell/shell.tsx";

/** Codes and keys stand in the query, as they may hold anything; only ids of ours stand in a path. */
const ROUTES: readonly Route[] = [
  { pattern: "/", page: IntakePage },
  { pattern: "/requests", page: RequestsPage },
  { pattern: "/requests/:requestId", page: RequestPage },
  { pattern: "/requests/:requestId/:index", page: RecordPage },
  { pattern: "/quarantine", page: QuarantinePage },
  { pattern: "/quarantine/:requestId/:index", page: HeldRecordPage },
  { pattern: "/backfills", page: BackfillsPage },
  { pattern: "/backfills/:backfillId", page: BackfillPage },
  { pattern: "/properties", page: PropertiesPage },
  { pattern: "/property", page: OnTheBooksPage },
  { pattern: "/property/pace", page: PacePage },
  { pattern: "/property/pickup", page: PickupPage },
  { pattern: "/property/blocks", page: BlocksPage },
  { pattern: "/property/reconciliation", page: ReconciliationPage },
  { pattern: "/property/calendar", page: CalendarPage },
  { pattern: "/history", page: HistoryPage },
  { pattern: "/clients", page: ClientsPage },
  { pattern: "/clients/new", page: NewClientPage },
  { pattern: "/clients/:clientId", page: ClientPage },
  { pattern: "/webhooks", page: WebhooksPage },
  { pattern: "/webhooks/:endpointId", page: WebhookPage },
  { pattern: "/settings", page: SettingsPage },
  { pattern: "/audit", page: AuditPage },
  { pattern: "/account", page: AccountPage },
];

/** The console: the login, or the page of the address. */
export function App() {
  return (
    <SessionProvider>
      <ToastProvider>
        <Content />
      </ToastProvider>
    </SessionProvider>
  );
}

function Content() {
  const { answer, error, askAgain } = useSession();
  const path = usePath();
  if (answer === undefined)
    return (
      <main>
        <h1 className="unseen">Bellhop console</h1>
        {error === undefined ? <Waiting lines={3} /> : <Failure error={error} onRetry={askAgain} />}
      </main>
    );
  if (answer.operator === null) return <LogInPage />;
  const found = findRoute(ROUTES, path);
  return (
    <Shell>{found === undefined ? <NotFoundPage /> : <found.route.page segments={found.segments} />}</Shell>
  );
}
