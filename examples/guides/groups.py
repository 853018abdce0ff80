from bellhop import PROPERTY, get, now, outcome, push


def block(blocks, pickup):
    """The complete current group block master."""
    return {
        "clientCode": "DEMO",
        "propertyCode": PROPERTY,
        "groupCode": "CONF27",
        "name": "Autumn conference",
        "lastModifiedDateTime": now(),
        "groupStatusCode": "DEFINITE",
        "startDate": "2027-09-10",
        "endDate": "2027-09-11",
        "cutoffDate": "2027-08-11",
        "groupBlocks": [
            {
                "occupancyDate": "2027-09-10",
                "roomTypeCode": "DLX",
                "originalBlocks": 25,
                "blocks": blocks,
                "pickup": pickup,
                "singlePersonRate": "140.00",
                "currencyCode": "GBP",
            }
        ],
    }


# A guest of the conference books: a reservation whose room stay names the block.
guest = {
    "clientCode": "DEMO",
    "propertyCode": PROPERTY,
    "reservationId": "R-2001",
    "lastModifiedDateTime": now(),
    "status": "CONFIRMED",
    "numberOfRooms": 1,
    "roomStays": [
        {
            "arrivalDate": "2027-09-10",
            "departureDate": "2027-09-11",
            "roomTypeCode": "DLX",
            "groupBlockCode": "CONF27",
        }
    ],
}

outcome(push("groups", [block(25, 0)]))
outcome(push("reservations", [guest]))
# The hotel releases five rooms (wash) and counts the pickup: send the complete master again.
outcome(push("groups", [block(20, 1)]))

# The result: 20 held, 1 picked up by the master and by the reservations, 5 released.
answer = get(
    "/api/insight/v1/blocks",
    clientCode="DEMO",
    propertyCode=PROPERTY,
    **{"from": "2027-09-10", "to": "2027-09-10"},
)
for night in answer["items"]:
    print({name: night[name] for name in ("blocks", "pickedUp", "pickedUpRebuilt", "remaining", "wash")})
