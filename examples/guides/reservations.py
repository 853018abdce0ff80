from bellhop import PROPERTY, get, now, outcome, push


def booking(departure):
    """The complete reservation as the hotel's system has it now, with the time of its last modification."""
    stay = {
        "arrivalDate": "2027-08-10",
        "departureDate": departure,
        "roomTypeCode": "DLX",
        "numberOfAdults": 2,
        "marketSegmentCode": "LEISURE",
        "rateCode": "BAR",
        "currencyCode": "GBP",
        "rates": [{"startDate": "2027-08-10", "endDate": departure, "rateValue": "180.00"}],
    }
    return {
        "clientCode": "DEMO",
        "propertyCode": PROPERTY,
        "reservationId": "R-1001",
        "lastModifiedDateTime": now(),
        "bookingDateTime": "2026-11-02T10:15:00Z",
        "status": "CONFIRMED",
        "numberOfRooms": 1,
        "roomStays": [stay],
    }


# Book it, then extend the stay by a night: send the whole reservation again, with the same id and a newer time.
for departure in ("2027-08-12", "2027-08-13"):
    became = outcome(push("reservations", [booking(departure)]))
    print("applied:", became["counts"]["applied"])

# The history has every version.
history = get(
    "/api/public/v1/reservations/history",
    clientCode="DEMO",
    propertyCode=PROPERTY,
    reservationId="R-1001",
)
for version in history["items"]:
    print(version["outcome"], version["record"]["roomStays"][0]["departureDate"])
