# Helper functions of the guides: a token, a push, its outcome, reading. Save it as bellhop.sh and source it: . ./bellhop.sh
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
PROPERTY=${PROPERTY:-LON01}

# A token is good for an hour: take one and keep it.
if [ -z "$TOKEN" ]; then
  TOKEN=$(curl -sS "$BASE_URL/api/oauth2/token" -d grant_type=client_credentials \
    -d client_id="$CLIENT_ID" -d client_secret="$CLIENT_SECRET" |
    sed 's/.*"access_token":"\([^"]*\)".*/\1/')
fi

# The source time of what is sent now.
now() { date -u +%Y-%m-%dT%H:%M:%SZ; }

# push RESOURCE [options of curl]: sends the batch on standard input and prints the id of the request.
push() {
  resource=$1
  shift
  curl -sS "$BASE_URL/api/public/v1/$resource" -H "Authorization: Bearer $TOKEN" \
    -H 'Content-Type: application/json' -H 'Accept: text/plain' --data-binary @- "$@"
}

# outcome REQUEST: waits until the request is applied, 5 seconds at most, and prints its outcome.
outcome() {
  curl -sS "$BASE_URL/api/public/v1/requests/$1" -H "Authorization: Bearer $TOKEN" -H 'Prefer: wait=5'
  echo
}

# get ADDRESS [-d name=value …]: prints what is there.
get() {
  address=$1
  shift
  curl -sS -G "$BASE_URL$address" -H "Authorization: Bearer $TOKEN" "$@"
  echo
}
