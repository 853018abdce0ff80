from bellhop import PROPERTY, now, outcome, push


def reservation(number, status="CONFIRMED", modified=None, arrival="2028-01-10"):
    return {
        "clientCode": "DEMO",
        "propertyCode": PROPERTY,
        "reservationId": number,
        "status": status,
        "lastModifiedDateTime": modified or NOW,
        "roomStays": [{"arrivalDate": arrival, "departureDate": "2028-01-12", "roomTypeCode": "DLX"}],
    }


NOW = now()
outcome(push("reservations", [reservation("R-5001")]))

# A batch with one record of each kind. Lenient: Bellhop accepts the valid records and reports each invalid one.
batch = [
    reservation("R-5001"),
    reservation("R-5001", status="RESERVED", modified="2020-01-01T00:00:00Z"),
    reservation("R-5002", status="WALK-IN"),
    reservation("R-5003", arrival="2028-01-32"),
    reservation("R-5004", modified="2099-01-01T00:00:00Z"),
]
became = outcome(push("reservations", batch, {"Prefer": "handling=lenient"}))
print({name: count for name, count in became["counts"].items() if count > 0})

# Records applied without a warning are only counted; the others are listed, each with its index in the batch.
for record in became["records"]:
    print(record["index"], batch[record["index"]]["reservationId"], record["outcome"], record["code"] or "")
    for found in record["warnings"] + record.get("violations", []):
        print("   ", found["code"], found["pointer"])
