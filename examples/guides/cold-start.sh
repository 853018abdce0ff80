. ./bellhop.sh

# 1. Declare the data: three nights of inventory.
BACKFILL=$(call /api/public/v1/backfills -H "Authorization: Bearer $TOKEN" \
  -H 'Content-Type: application/json' --data-binary @- <<MANIFEST | sed 's/.*"backfillId":"\([^"]*\)".*/\1/'
{"clientCode": "DEMO", "propertyCode": "$PROPERTY", "note": "go-live", "resources": [
  {"resource": "inventories", "from": "2025-01-01", "to": "2025-01-03", "expectedRecords": 3}]}
MANIFEST
)

# night DATE: sends a past night, with the header of the backfill.
night() {
  outcome "$(push inventories -H "Backfill-Id: $BACKFILL" <<BATCH
[{
  "clientCode": "DEMO", "propertyCode": "$PROPERTY", "createDateTime": "$(now)", "occupancyDate": "$1",
  "roomTypeInventories": [{"roomTypeCode": "DLX", "roomTypeCapacity": 40, "roomsSold": 20}]
}]
BATCH
)" | grep -o '"applied":[0-9]*'
}

# 2. Send it. In production, send hundreds of records per batch.
night 2025-01-01
night 2025-01-03

# 3. List what is missing.
get "/api/public/v1/backfills/$BACKFILL/gaps" | grep -o '"kind":"[a-z-]*"\|"date":"[0-9-]*"'
night 2025-01-02

# 4. Close it. While a batch is very new the response is NotReady: try again. Any other error says what is wrong.
try_close() {
  CLOSED=$(curl -sS -i -X POST "$BASE_URL/api/public/v1/backfills/$BACKFILL/close" -H "Authorization: Bearer $TOKEN")
  case $CLOSED in *'"bellhop.backfill.NotReady"'*) return 1 ;; esac
}
until try_close; do sleep "$(printf '%s\n' "$CLOSED" | grep -i '^retry-after:' | tr -dc 0-9)"; done
printf '%s\n' "$CLOSED" | grep -o '"state":"closed"' || { printf '%s\n' "$CLOSED" >&2; exit 1; }
