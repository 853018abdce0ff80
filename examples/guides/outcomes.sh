. ./bellhop.sh

# reservation ID STATUS TIME ARRIVAL: one record.
reservation() {
  cat <<RECORD
{"clientCode": "DEMO", "propertyCode": "$PROPERTY", "reservationId": "$1", "status": "$2", "lastModifiedDateTime": "$3",
 "roomStays": [{"arrivalDate": "$4", "departureDate": "2028-01-12", "roomTypeCode": "DLX"}]}
RECORD
}

NOW=$(now)
outcome "$(echo "[$(reservation R-5001 CONFIRMED "$NOW" 2028-01-10)]" | push reservations)" | grep -o '"applied":[0-9]*'

# A batch with one record of each kind. Lenient: Bellhop accepts the valid records and reports each invalid one.
REQUEST=$(push reservations -H 'Prefer: handling=lenient' <<BATCH
[$(reservation R-5001 CONFIRMED "$NOW" 2028-01-10),
 $(reservation R-5001 RESERVED 2020-01-01T00:00:00Z 2028-01-10),
 $(reservation R-5002 WALK-IN "$NOW" 2028-01-10),
 $(reservation R-5003 CONFIRMED "$NOW" 2028-01-32),
 $(reservation R-5004 CONFIRMED 2099-01-01T00:00:00Z 2028-01-10)]
BATCH
)

# The number of records with each outcome.
outcome "$REQUEST" | grep -o '"counts":{[^}]*}' | grep -o '"[a-z]*":[1-9][0-9]*'

# Records applied without a warning are only counted; the others are listed, each with its index in the batch.
outcome "$REQUEST" | tr '{' '\n' |
  sed -n 's/"index":\([0-9]*\),.*"key":"\([^"]*\)","outcome":"\([a-z]*\)","code":\([^,]*\),.*/\1 \2 \3 \4/p'
