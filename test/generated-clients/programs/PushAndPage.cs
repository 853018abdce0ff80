using System;
using System.Collections.Generic;
using System.Linq;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Threading.Tasks;
using Bellhop;

/// By a C# client of NSwag, with a Session for its JSON library: pushes three records of each resource, reads them back, pages through them.
public static class PushAndPage
{
    const string ClientCode = "DEMO";
    const string Time = "2026-06-01T08:30:00.123456Z";
    static readonly string Property = Environment.GetEnvironmentVariable("PROPERTY");

    static DateTime Day(int number) => new DateTime(2027, 6, number);

    static Inventory Night(int number)
    {
        var rooms = new RoomTypeInventory { RoomTypeCode = "DLX", RoomTypeCapacity = 40, RoomsSold = 31 };
        return new Inventory
        {
            ClientCode = ClientCode, PropertyCode = Property, CreateDateTime = Time, OccupancyDate = Day(number),
            RoomTypeInventories = new[] { rooms },
            AdditionalProperties = new Dictionary<string, object> { ["ownField"] = "kept" },
        };
    }

    static Reservation Booking(int number) => new Reservation
    {
        ClientCode = ClientCode, PropertyCode = Property, LastModifiedDateTime = Time,
        ReservationId = "R-" + number, Status = "CONFIRMED", PrimarySharer = true, Sharers = new object[] { "R-9" },
        RoomStays = new[] { new RoomStay { ArrivalDate = Day(1), DepartureDate = Day(3), RoomTypeCode = "DLX" } },
    };

    static Group Block(int number)
    {
        var rooms = new GroupBlock { OccupancyDate = Day(1), RoomTypeCode = "DLX", Blocks = 20, SinglePersonRate = "140.00" };
        return new Group
        {
            ClientCode = ClientCode, PropertyCode = Property, LastModifiedDateTime = Time,
            GroupCode = "G-" + number, GroupStatusCode = "DEFINITE", StartDate = Day(1), EndDate = Day(2),
            GroupBlocks = new[] { rooms },
        };
    }

    static R[] Three<R>(Func<int, R> made) => new[] { made(1), made(2), made(3) };

    static void Same(object found, object expected)
    {
        string one = Session.Text(found), other = Session.Text(expected);
        if (one != other) throw new Exception(one + "\nis not\n" + other);
    }

    /// The records of every page, of which there are two.
    static async Task<List<R>> AllOf<P, R>(Func<string, Task<P>> fetch, Func<P, IEnumerable<R>> items, Func<P, string> next)
    {
        var all = new List<R>();
        var pages = 0;
        string cursor = null;
        do
        {
            var page = await fetch(cursor);
            all.AddRange(items(page));
            cursor = next(page);
            pages++;
        } while (cursor != null);
        Same(pages, 2);
        return all;
    }

    static async Task Use(BellhopClient client, HttpClient http)
    {
        var form = new Body
        {
            Grant_type = BodyGrant_type.Client_credentials,
            Client_id = Environment.GetEnvironmentVariable("CLIENT_ID"),
            Client_secret = Environment.GetEnvironmentVariable("CLIENT_SECRET"),
        };
        var token = await client.IssueTokenAsync(form);
        http.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", token.Access_token);

        foreach (var accepted in new[]
        {
            await client.PushInventoriesAsync(Three(Night)),
            await client.PushReservationsAsync(Three(Booking)),
            await client.PushGroupsAsync(Three(Block)),
        })
        {
            var outcome = await client.GetRequestAsync(accepted.RequestId, prefer: "wait=10");
            Same(outcome.Status, "applied");
            Same(outcome.Counts.Applied, 3);
            foreach (var one in outcome.Records)
            {
                Console.WriteLine("outcome " + one.Outcome);
                foreach (var warning in one.Warnings) Console.WriteLine("warning " + warning.Code);
            }
        }
        Console.WriteLine("pushed");

        var nights = await AllOf(
            cursor => client.ListInventoriesAsync(ClientCode, Property, limit: 2, cursor: cursor),
            page => page.Items, page => page.NextCursor);
        var bookings = await AllOf(
            cursor => client.ListReservationsAsync(ClientCode, Property, limit: 2, cursor: cursor),
            page => page.Items, page => page.NextCursor);
        var blocks = await AllOf(
            cursor => client.ListGroupsAsync(ClientCode, Property, limit: 2, cursor: cursor),
            page => page.Items, page => page.NextCursor);
        Console.WriteLine("paged");
        Same(nights, Three(Night));
        Same(bookings, Three(Booking));
        Same(blocks, Three(Block));
        Console.WriteLine("read back");
    }

    public static void Main()
    {
        using (var http = new HttpClient())
            Use(new BellhopClient(http) { BaseUrl = Environment.GetEnvironmentVariable("BASE_URL") }, http).GetAwaiter().GetResult();
    }
}
