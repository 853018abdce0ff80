# Helper functions of the guides: a token, a push, its outcome, reading. Save it as bellhop.sh and source it: . ./bellhop.sh
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
PROPERTY=${PROPERTY:-LON01}
# The token of all programs in this folder, by service and client; the second line is the Unix time to renew it.
TOKEN_FILE=${TOKEN_FILE:-.bellhop-token-$(printf '%s' "$BASE_URL-$CLIENT_ID" | tr -c 'A-Za-z0-9' '_')}

# call PATH [curl options]: prints the response. A status other than 2xx ends the program with status and body.
call() {
  path=$1
  shift
  answer=$(mktemp)
  headers=$(mktemp)
  status=$(curl -sS -o "$answer" -D "$headers" -w '%{http_code}' "$BASE_URL$path" "$@")
  case $status in
    2??) cat "$answer" && rm "$answer" "$headers" ;;
    *)
      echo "$path: $status $(cat "$answer")" >&2
      # The body of a 403 is empty: this header has the reason.
      grep -i '^www-authenticate:' "$headers" >&2
      case $status in 401 | 403) rm -f "$TOKEN_FILE" ;; esac
      rm "$answer" "$headers"
      # Ends the whole program, even from within $( ).
      kill $$
      exit 1
      ;;
  esac
}

NEXT=0
[ ! -f "$TOKEN_FILE" ] || { read -r TOKEN && read -r NEXT; } < "$TOKEN_FILE"
if [ "$(date +%s)" -ge "${NEXT:-0}" ]; then
  GIVEN=$(call /api/oauth2/token -d grant_type=client_credentials \
    -d client_id="$CLIENT_ID" -d client_secret="$CLIENT_SECRET")
  TOKEN=$(echo "$GIVEN" | sed 's/.*"access_token":"\([^"]*\)".*/\1/')
  LIFETIME=$(echo "$GIVEN" | sed 's/.*"expires_in":\([0-9]*\).*/\1/')
  # Renewed a minute before it expires, or sooner if it lasts less than ten minutes.
  EARLY=$((LIFETIME < 600 ? LIFETIME / 10 : 60))
  (umask 077 && printf '%s\n' "$TOKEN" $(($(date +%s) + LIFETIME - EARLY)) > "$TOKEN_FILE")
fi

# Prints the current time as a source time.
now() { date -u +%Y-%m-%dT%H:%M:%SZ; }

# push RESOURCE [curl options]: sends the batch on standard input and prints the id of the request.
push() {
  resource=$1
  shift
  call "/api/public/v1/$resource" -H "Authorization: Bearer $TOKEN" \
    -H 'Content-Type: application/json' -H 'Accept: text/plain' --data-binary @- "$@"
}

# outcome REQUEST: waits up to 5 seconds until the request is applied, and prints its outcome.
outcome() {
  [ -n "$1" ] || exit 1
  call "/api/public/v1/requests/$1" -H "Authorization: Bearer $TOKEN" -H 'Prefer: wait=5'
  echo
}

# get ADDRESS [-d name=value …]: prints the response.
get() {
  address=$1
  shift
  call "$address" -G -H "Authorization: Bearer $TOKEN" "$@"
  echo
}
