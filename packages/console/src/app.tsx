import { QueryClientProvider } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext } from "react";
import { type AroundNavHandler, type BaseLocationHook, Route, Router, Switch } from "wouter";
import { navigate, usePathname } from "wouter/use-browser-location";
import { queries, useSession } from "./data/queries.ts";
import { AccountPage } from "./pages/account.tsx";
import { AuditPage } from "./pages/audit.tsx";
import { BackfillPage, BackfillsPage } from "./pages/backfills.tsx";
import { CertificationPage, CertificationsPage } from "./pages/certifications.tsx";
import { ClientPage } from "./pages/client.tsx";
import { ClientsPage, NewClientPage } from "./pages/clients.tsx";
import { HistoryPage } from "./pages/history.tsx";
import { IntakePage } from "./pages/intake.tsx";
import { LogInPage } from "./pages/log-in.tsx";
import { OperatorsPage } from "./pages/operators.tsx";
import { PortfolioPage } from "./pages/portfolio.tsx";
import { PortfolioReportPage } from "./pages/portfolio-report.tsx";
import { BlocksPage } from "./pages/property/blocks.tsx";
import { CalendarPage } from "./pages/property/calendar.tsx";
import { OnTheBooksPage } from "./pages/property/on-the-books.tsx";
import { OverviewPage } from "./pages/property/overview.tsx";
import { PacePage } from "./pages/property/pace.tsx";
import { PickupPage } from "./pages/property/pickup.tsx";
import { ReconciliationPage } from "./pages/property/reconciliation.tsx";
import { ReportPage } from "./pages/property/report.tsx";
import { QuarantinedRecordPage, QuarantinePage } from "./pages/quarantine.tsx";
import { RecordPage, RequestPage } from "./pages/request.tsx";
import { RequestsPage } from "./pages/requests.tsx";
import { SettingsPage } from "./pages/settings.tsx";
import { SubscriptionsPage } from "./pages/subscriptions.tsx";
import { WebhookPage, WebhooksPage } from "./pages/webhooks.tsx";
import { LinkButton } from "./parts/button.tsx";
import { ToastProvider } from "./parts/dialog.tsx";
import { Empty, Failure, Page, Waiting } from "./parts/page.tsx";
import { WorkProvider } from "./parts/work.tsx";
import { Shell } from "./shell/shell.tsx";

/** A link to the open page adds no history entry. */
const onlyElsewhere: AroundNavHandler = (navigate, to, options) => {
  if (options?.replace === true || to !== location.pathname + location.search) navigate(to, options);
};

const PathContext = createContext("");

/** Reads the path once for all links; wouter's default subscribes each link to every change. */
const usePath: BaseLocationHook = () => [useContext(PathContext), navigate];

function PathProvider({ children }: { children: ReactNode }) {
  return <PathContext value={usePathname()}>{children}</PathContext>;
}

export function App() {
  return (
    <QueryClientProvider client={queries}>
      <ToastProvider>
        <WorkProvider>
          <PathProvider>
            <Router base="/console" hook={usePath} aroundNav={onlyElsewhere}>
              <Content />
            </Router>
          </PathProvider>
        </WorkProvider>
      </ToastProvider>
    </QueryClientProvider>
  );
}

function Content() {
  const { data, error, refetch } = useSession();
  if (data === undefined)
    return (
      <main>
        <h1 className="unseen">Bellhop console</h1>
        {error === null ? <Waiting lines={3} /> : <Failure error={error} onRetry={refetch} />}
      </main>
    );
  if (data.operator === null) return <LogInPage />;
  return (
    <Shell>
      <Pages />
    </Shell>
  );
}

/** Codes and keys may contain any character, so they are query parameters. */
function Pages() {
  return (
    <Switch>
      <Route path="/" component={PortfolioPage} />
      <Route path="/report" component={PortfolioReportPage} />
      <Route path="/intake" component={IntakePage} />
      <Route path="/requests" component={RequestsPage} />
      <Route path="/requests/:requestId" component={RequestPage} />
      <Route path="/requests/:requestId/:index" component={RecordPage} />
      <Route path="/quarantine" component={QuarantinePage} />
      <Route path="/quarantine/:requestId/:index" component={QuarantinedRecordPage} />
      <Route path="/backfills" component={BackfillsPage} />
      <Route path="/backfills/:backfillId" component={BackfillPage} />
      <Route path="/property" component={OverviewPage} />
      <Route path="/property/on-the-books" component={OnTheBooksPage} />
      <Route path="/property/report" component={ReportPage} />
      <Route path="/property/pace" component={PacePage} />
      <Route path="/property/pickup" component={PickupPage} />
      <Route path="/property/blocks" component={BlocksPage} />
      <Route path="/property/reconciliation" component={ReconciliationPage} />
      <Route path="/property/calendar" component={CalendarPage} />
      <Route path="/history" component={HistoryPage} />
      <Route path="/certifications" component={CertificationsPage} />
      <Route path="/certifications/:certificationId" component={CertificationPage} />
      <Route path="/clients" component={ClientsPage} />
      <Route path="/clients/new" component={NewClientPage} />
      <Route path="/clients/:clientId" component={ClientPage} />
      <Route path="/webhooks" component={WebhooksPage} />
      <Route path="/webhooks/:endpointId" component={WebhookPage} />
      <Route path="/subscriptions" component={SubscriptionsPage} />
      <Route path="/settings" component={SettingsPage} />
      <Route path="/audit" component={AuditPage} />
      <Route path="/operators" component={OperatorsPage} />
      <Route path="/account" component={AccountPage} />
      <Route component={NotFoundPage} />
    </Switch>
  );
}

function NotFoundPage() {
  return (
    <Page title="Page not found">
      <Empty title="There is no page at this address" actions={<LinkButton to="/">Portfolio</LinkButton>}>
        The link may be incomplete or from another version of the console.
      </Empty>
    </Page>
  );
}
