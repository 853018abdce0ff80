import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.PushApi;
import org.openapitools.client.api.RecordsApi;
import org.openapitools.client.api.RequestsApi;
import org.openapitools.client.api.TokensApi;
import org.openapitools.client.model.*;

/** By a Java client of openapi-generator, which Session opens: pushes three records of each resource, reads them back, pages through them. */
public class PushAndPage {
    static final String CLIENT_CODE = "DEMO";
    static final String PROPERTY = System.getenv("PROPERTY");
    static final String TIME = "2026-06-01T08:30:00.123456Z";

    static LocalDate day(int number) {
        return LocalDate.of(2027, 6, number);
    }

    static Inventory night(int number) {
        RoomTypeInventory rooms = new RoomTypeInventory()
                .roomTypeCode("DLX").roomTypeCapacity(40).roomsSold(31);
        Inventory made = new Inventory().clientCode(CLIENT_CODE).propertyCode(PROPERTY).createDateTime(TIME)
                .occupancyDate(day(number)).addRoomTypeInventoriesItem(rooms);
        made.putAdditionalProperty("ownField", "kept");
        return made;
    }

    static Reservation reservation(int number) {
        RoomStay stay = new RoomStay().arrivalDate(day(1)).departureDate(day(3)).roomTypeCode("DLX");
        return new Reservation().clientCode(CLIENT_CODE).propertyCode(PROPERTY).lastModifiedDateTime(TIME)
                .reservationId("R-" + number).status("CONFIRMED").primarySharer(true)
                .addSharersItem("R-9").addRoomStaysItem(stay);
    }

    static Group group(int number) {
        GroupBlock block = new GroupBlock().occupancyDate(day(1)).roomTypeCode("DLX").blocks(20)
                .singlePersonRate("140.00");
        return new Group().clientCode(CLIENT_CODE).propertyCode(PROPERTY).lastModifiedDateTime(TIME)
                .groupCode("G-" + number).groupStatusCode("DEFINITE").startDate(day(1)).endDate(day(2))
                .addGroupBlocksItem(block);
    }

    static <R> List<R> three(Function<Integer, R> made) {
        return IntStream.rangeClosed(1, 3).boxed().map(made).collect(Collectors.toList());
    }

    static void same(Object found, Object expected) {
        if (!found.equals(expected)) throw new AssertionError(found + "\nis not\n" + expected);
    }

    interface Fetch<P> {
        P page(String cursor) throws Exception;
    }

    /** The records of every page, of which there are two. */
    static <P, R> List<R> allOf(Fetch<P> fetch, Function<P, List<R>> items, Function<P, String> next) throws Exception {
        List<R> all = new ArrayList<>();
        int pages = 0;
        String cursor = null;
        do {
            P page = fetch.page(cursor);
            all.addAll(items.apply(page));
            cursor = next.apply(page);
            pages++;
        } while (cursor != null);
        same(pages, 2);
        return all;
    }

    public static void main(String[] arguments) throws Exception {
        ApiClient client = Session.at(System.getenv("BASE_URL"));
        String token = new TokensApi(client)
                .issueToken("client_credentials", null, System.getenv("CLIENT_ID"), System.getenv("CLIENT_SECRET"))
                .getAccessToken();
        Session.authorize(client, token);

        PushApi push = new PushApi(client);
        for (Accepted accepted : Arrays.asList(
                push.pushInventories(three(PushAndPage::night), null, null, null, null, null),
                push.pushReservations(three(PushAndPage::reservation), null, null, null, null, null),
                push.pushGroups(three(PushAndPage::group), null, null, null, null, null))) {
            RequestStatus outcome =
                    new RequestsApi(client).getRequest(accepted.getRequestId(), "wait=10", null, null, null);
            same(outcome.getStatus(), "applied");
            same(outcome.getCounts().getApplied(), 3);
            for (RecordOutcome one : outcome.getRecords()) {
                System.out.println("outcome " + one.getOutcome());
                for (Warning warning : one.getWarnings()) System.out.println("warning " + warning.getCode());
            }
        }
        System.out.println("pushed");

        RecordsApi lists = new RecordsApi(client);
        List<Inventory> nights = allOf(
                cursor -> lists.listInventories(CLIENT_CODE, PROPERTY, null, null, null, null, null, 2, cursor),
                InventoryPage::getItems, InventoryPage::getNextCursor);
        List<Reservation> reservations = allOf(
                cursor -> lists.listReservations(CLIENT_CODE, PROPERTY, null, null, null, null, null, null, 2, cursor),
                ReservationPage::getItems, ReservationPage::getNextCursor);
        List<Group> groups = allOf(
                cursor -> lists.listGroups(CLIENT_CODE, PROPERTY, null, null, null, null, null, null, 2, cursor),
                GroupPage::getItems, GroupPage::getNextCursor);
        System.out.println("paged");
        same(nights, three(PushAndPage::night));
        same(reservations, three(PushAndPage::reservation));
        same(groups, three(PushAndPage::group));
        System.out.println("read back");
        // Threads of the HTTP client would keep the program for minutes.
        System.exit(0);
    }
}
