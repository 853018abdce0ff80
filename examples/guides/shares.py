from bellhop import PROPERTY, get, now, outcome, push


def sharer(reservation, other, departure, primary):
    """A guest's reservation of a shared room: both guests' reservations have the same shareId."""
    return {
        "clientCode": "DEMO",
        "propertyCode": PROPERTY,
        "reservationId": reservation,
        "lastModifiedDateTime": now(),
        "status": "CONFIRMED",
        "numberOfRooms": 1,
        "shareId": "S-12",
        "primarySharer": primary,
        "sharers": [other],
        "roomStays": [
            {
                "arrivalDate": "2027-10-01",
                "departureDate": departure,
                "roomTypeCode": "DLX",
                "numberOfAdults": 1,
                "currencyCode": "GBP",
                "rates": [{"startDate": "2027-10-01", "endDate": departure, "rateValue": "90.00"}],
            }
        ],
    }


batch = [
    sharer("R-3001", "R-3002", "2027-10-03", True),
    sharer("R-3002", "R-3001", "2027-10-02", False),
]
print("applied:", outcome(push("reservations", batch))["counts"]["applied"])

# One room on both nights: two guests and both rates on the first, one guest on the second.
books = get(
    "/api/insight/v1/on-the-books",
    clientCode="DEMO",
    propertyCode=PROPERTY,
    **{"from": "2027-10-01", "to": "2027-10-02"},
)
for night in books["items"]:
    print(night["stayDate"], night["rooms"], "room,", night["adults"], "adults,", night["roomRevenue"])
