import time

from bellhop import PROPERTY, call, get, now, outcome, push

# 1. Declare the data: three nights of inventory.
manifest = {
    "clientCode": "DEMO",
    "propertyCode": PROPERTY,
    "note": "go-live",
    "resources": [
        {"resource": "inventories", "from": "2025-01-01", "to": "2025-01-03", "expectedRecords": 3},
    ],
}
status, _, opened = call("POST", "/api/public/v1/backfills", manifest)
if status != 201:
    raise RuntimeError(f"{status}: {opened}")
backfill = "/api/public/v1/backfills/" + opened["backfillId"]


def send(*dates):
    """Sends past nights, each batch with the header of the backfill."""
    nights = [
        {
            "clientCode": "DEMO",
            "propertyCode": PROPERTY,
            "createDateTime": now(),
            "occupancyDate": date,
            "roomTypeInventories": [{"roomTypeCode": "DLX", "roomTypeCapacity": 40, "roomsSold": 20}],
        }
        for date in dates
    ]
    request = push("inventories", nights, {"Backfill-Id": opened["backfillId"]})
    print("applied:", outcome(request)["counts"]["applied"])


# 2. Send it.
send("2025-01-01", "2025-01-03")

# 3. List what is missing.
for gap in get(backfill + "/gaps")["items"]:
    print(gap["kind"], gap.get("date") or "")
send("2025-01-02")

# 4. Close it. While a batch is very new the response is NotReady: try again. Any other error says what is wrong.
while True:
    status, headers, closed = call("POST", backfill + "/close")
    if status != 409 or closed["exception"] != "bellhop.backfill.NotReady":
        break
    time.sleep(int(headers["Retry-After"]))
if status != 200:
    raise RuntimeError(f"{status}: {closed}")
print(closed["state"])
