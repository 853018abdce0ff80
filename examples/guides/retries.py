import time
import urllib.error
import uuid

from bellhop import PROPERTY, call, now

TRIES_MAX = 8
AGAIN = {408, 429, 500, 503}


def send(records, key):
    """Sends a batch until there is a response, always with the same body and key, so that it is stored once."""
    for attempt in range(TRIES_MAX):
        wait = min(60, 2**attempt)
        try:
            path = "/api/public/v1/inventories"
            status, headers, answer = call("POST", path, records, {"Idempotency-Key": key})
            if status not in AGAIN:
                return status, answer
            wait = int(headers.get("Retry-After", wait))
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            pass  # No answer: it may be on disk. The key makes sending it again safe.
        time.sleep(wait)
    raise RuntimeError(f"no response after {TRIES_MAX} attempts; keep the batch and send it later")


def night(sold):
    return {
        "clientCode": "DEMO",
        "propertyCode": PROPERTY,
        "createDateTime": now(),
        "occupancyDate": "2027-12-24",
        "roomTypeInventories": [{"roomTypeCode": "DLX", "roomTypeCapacity": 40, "roomsSold": sold}],
    }


key = str(uuid.uuid4())
batch = [night(12)]
_, first = send(batch, key)
_, again = send(batch, key)
print("one request, sent twice:", first["requestId"] == again["requestId"])

# Another body under the same key is an error.
status, answer = send([night(13)], key)
print(status, answer["exception"])
