import json
import time
import urllib.parse
import urllib.request

from bellhop import BASE_URL, PROPERTY, now, push, token


def feed(**parameters):
    """The lines of one response of the change feed; the last one has the cursor to continue from."""
    parameters |= {"clientCode": "DEMO", "propertyCode": PROPERTY, "resource": "inventories"}
    address = BASE_URL + "/api/public/v1/changes?" + urllib.parse.urlencode(parameters)
    request = urllib.request.Request(address, headers={"Authorization": "Bearer " + token()})
    lines = []
    with urllib.request.urlopen(request, timeout=60) as answer:
        lines = [json.loads(line) for line in answer]
    if not lines or lines[-1]["type"] != "cursor":
        raise ConnectionError("the response was cut off: continue from the last cursor you stored")
    return lines[:-1], lines[-1]["cursor"]


# The current end of the feed: changes after it are new. Store the cursor together with your result.
_, cursor = feed(**{"from": "now"})

# Change something: another count on each run, because a record with the same content is not a change …
sold = int(time.time()) % 90
night = {
    "clientCode": "DEMO",
    "propertyCode": PROPERTY,
    "createDateTime": now(),
    "occupancyDate": "2028-02-01",
    "roomTypeInventories": [{"roomTypeCode": "DLX", "roomTypeCapacity": 90, "roomsSold": sold}],
}
push("inventories", [night])

# … and read it from the feed. The response waits for it up to 25 seconds.
print("waiting for the change, 25 s at most")
changes, cursor = feed(cursor=cursor, wait=25)
for change in changes:
    print(change["change"], change["key"], change["sourceTime"])
