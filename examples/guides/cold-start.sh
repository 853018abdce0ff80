. ./bellhop.sh

# 1. Say what is coming: three nights of inventory.
BACKFILL=$(call /api/public/v1/backfills -H "Authorization: Bearer $TOKEN" \
  -H 'Content-Type: application/json' --data-binary @- <<MANIFEST | sed 's/.*"backfillId":"\([^"]*\)".*/\1/'
{"clientCode": "DEMO", "propertyCode": "$PROPERTY", "note": "go-live", "resources": [
  {"resource": "inventories", "from": "2025-01-01", "to": "2025-01-03", "expectedRecords": 3}]}
MANIFEST
)

# night DATE: sends a night of the past, each batch with the header of the backfill.
night() {
  outcome "$(push inventories -H "Backfill-Id: $BACKFILL" <<BATCH
[{
  "clientCode": "DEMO", "propertyCode": "$PROPERTY", "createDateTime": "$(now)", "occupancyDate": "$1",
  "roomTypeInventories": [{"roomTypeCode": "DLX", "roomTypeCapacity": 40, "roomsSold": 20}]
}]
BATCH
)" | grep -o '"applied":[0-9]*'
}

# 2. Send it. In truth: hundreds of records a batch, one batch after another.
night 2025-01-01
night 2025-01-03

# 3. What is missing?
get "/api/public/v1/backfills/$BACKFILL/gaps" | grep -o '"kind":"[a-z-]*"\|"date":"[0-9-]*"'
night 2025-01-02

# 4. Close it. As long as a batch is very new the answer is NotReady: try again. Any other refusal says what is wrong.
try_close() {
  CLOSED=$(curl -sS -i -X POST "$BASE_URL/api/public/v1/backfills/$BACKFILL/close" -H "Authorization: Bearer $TOKEN")
  case $CLOSED in *'"bellhop.backfill.NotReady"'*) return 1 ;; esac
}
until try_close; do sleep "$(printf '%s\n' "$CLOSED" | grep -i '^retry-after:' | tr -dc 0-9)"; done
printf '%s\n' "$CLOSED" | grep -o '"state":"closed"' || { printf '%s\n' "$CLOSED" >&2; exit 1; }
