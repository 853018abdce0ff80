from bellhop import PROPERTY, get, now, outcome, push


def night(date, *room_types):
    """One record per night with all room types of the hotel: a newer record replaces the older one completely."""
    return {
        "clientCode": "DEMO",
        "propertyCode": PROPERTY,
        "createDateTime": now(),
        "occupancyDate": date,
        "roomTypeInventories": [
            {"roomTypeCode": code, "roomTypeCapacity": capacity, "roomsSold": sold}
            for code, capacity, sold in room_types
        ],
    }


batch = [
    night("2027-07-14", ("DLX", 40, 31), ("STD", 110, 87)),
    night("2027-07-15", ("DLX", 40, 42), ("STD", 110, 90)),
]
became = outcome(push("inventories", batch))

# Both are applied. DLX on the 15th is overbooked, which is legal and only raises a warning.
print("applied:", became["counts"]["applied"])
for record in became["records"]:
    for warning in record["warnings"]:
        print(record["key"], warning["code"], warning["pointer"])

# The current nights, verbatim.
nights = get(
    "/api/public/v1/inventories",
    clientCode="DEMO",
    propertyCode=PROPERTY,
    **{"from": "2027-07-14", "to": "2027-07-15"},
)
for record in nights["items"]:
    print(record["occupancyDate"], [each["roomsSold"] for each in record["roomTypeInventories"]])
