from bellhop import PROPERTY, get, now, outcome, push


def stay(reservation, status, departure="2027-11-06", cancelled=None):
    """A complete reservation with its status; the cancellation time is null without a cancellation."""
    return {
        "clientCode": "DEMO",
        "propertyCode": PROPERTY,
        "reservationId": reservation,
        "lastModifiedDateTime": now(),
        "status": status,
        "cancellationDateTime": cancelled,
        "numberOfRooms": 1,
        "roomStays": [{"arrivalDate": "2027-11-05", "departureDate": departure, "roomTypeCode": "STD"}],
    }


def send(*reservations):
    return outcome(push("reservations", list(reservations)))["counts"]["applied"]


def rooms():
    night = {"from": "2027-11-05", "to": "2027-11-05"}
    books = get("/api/insight/v1/on-the-books", clientCode="DEMO", propertyCode=PROPERTY, **night)
    return [each["rooms"] for each in books["items"]]


# Two bookings, and one of day use, which departs on its arrival date and has no night.
day_use = stay("R-4003", "CONFIRMED", departure="2027-11-05")
print("applied:", send(stay("R-4001", "CONFIRMED"), stay("R-4002", "CONFIRMED"), day_use))
print("on the books:", rooms())

# Cancel one. There is no delete: send the whole reservation again with a cancelled status.
print("applied:", send(stay("R-4001", "CANCELLED", cancelled=now())))
print("on the books:", rooms())

# Reverse the cancellation: send the former content with a newer time.
print("applied:", send(stay("R-4001", "CONFIRMED")))
print("on the books:", rooms())
