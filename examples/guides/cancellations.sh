. ./bellhop.sh

# stay ID STATUS CANCELLED DEPARTURE: a reservation with its status; CANCELLED is a time in quotes, or null.
stay() {
  push reservations <<BATCH
[{
  "clientCode": "DEMO", "propertyCode": "$PROPERTY", "reservationId": "$1", "lastModifiedDateTime": "$(now)",
  "status": "$2", "cancellationDateTime": $3, "numberOfRooms": 1,
  "roomStays": [{"arrivalDate": "2027-11-05", "departureDate": "$4", "roomTypeCode": "STD"}]
}]
BATCH
}

# Two bookings, and one of day use, which departs on its arrival date and has no night.
for REQUEST in "$(stay R-4001 CONFIRMED null 2027-11-06)" "$(stay R-4002 CONFIRMED null 2027-11-06)" \
  "$(stay R-4003 CONFIRMED null 2027-11-05)"; do
  outcome "$REQUEST" | grep -o '"applied":[0-9]*'
done

# Cancel one. There is no delete: send the whole reservation again with a cancelled status.
outcome "$(stay R-4001 CANCELLED "\"$(now)\"" 2027-11-06)" | grep -o '"applied":[0-9]*'

# The rooms still on the books of the night.
get /api/insight/v1/on-the-books -d clientCode=DEMO -d propertyCode="$PROPERTY" -d from=2027-11-05 -d to=2027-11-05 |
  grep -o '"rooms":[0-9]*'

# Reverse the cancellation: send the former content with a newer time. Wait a second, because these times are whole seconds, and
# the same content with the same time would be a duplicate.
sleep 1
outcome "$(stay R-4001 CONFIRMED null 2027-11-06)" | grep -o '"applied":[0-9]*'
