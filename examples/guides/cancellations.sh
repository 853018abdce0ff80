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

# Two bookings and one of day use, which leaves on the day it comes and so has no night.
for REQUEST in "$(stay R-4001 CONFIRMED null 2027-11-06)" "$(stay R-4002 CONFIRMED null 2027-11-06)" \
  "$(stay R-4003 CONFIRMED null 2027-11-05)"; do
  outcome "$REQUEST" | grep -o '"applied":[0-9]*'
done

# One is cancelled. There is no delete: the whole reservation is sent again with a status that says so.
outcome "$(stay R-4001 CANCELLED "\"$(now)\"" 2027-11-06)" | grep -o '"applied":[0-9]*'

# The rooms that remain on the books of the night.
get /api/insight/v1/on-the-books -d clientCode=DEMO -d propertyCode="$PROPERTY" -d from=2027-11-05 -d to=2027-11-05 |
  grep -o '"rooms":[0-9]*'

# It is taken back: the former content, with a newer time. A second later, since these times are whole seconds: the same
# content with the same time would be a duplicate.
sleep 1
outcome "$(stay R-4001 CONFIRMED null 2027-11-06)" | grep -o '"applied":[0-9]*'
